import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, log } from '@temporalio/activity';
import { type ScanStatus, sinceOf, type TailOrder } from '../domain/scan.ts';
import { NO_PACE, type Pace, paceAfter } from '../domain/scan-pace.ts';
import { type Stand, standsSince, statusOf } from '../domain/scan-view.ts';
import { finalizedTip } from '../solana/scan/frontier.ts';
import { DepositAnnouncer } from './deposit-announce.ts';
import { DepositConfirmer } from './deposit-confirm.ts';
import { DepositScanner, type ScannerDeps, type Step } from './deposit-scanner.ts';
import { OutflowWitness } from './outflow-witness.ts';
import { haltAfter, isOperational, ScanAlarms } from './scan-alarms.ts';
import { ScanReporter } from './scan-reporter.ts';

export interface DepositScanDeps extends ScannerDeps {
  /** Time between two looks for a new block. Default 400. */
  readonly pollMs?: number;
  /** Whether deposits are told as soon as their block is confirmed. Default: no. */
  readonly announces?: boolean;
  /** Slots behind the cursor whose headers are kept. Default: as {@link KeptBlocks} says. */
  readonly keptSlots?: bigint;
  /** Told how the scan stands after each look. */
  readonly onStatus?: (status: ScanStatus) => void;
  /** Aborted when this process is to end: the scan is then left to others at once. */
  readonly stop?: AbortSignal;
}

const POLL_MS = 400;
const WAIT_MS = 2_000;
/** Nobody waits for it as users do for a deposit. */
const OUTFLOWS_EVERY_MS = 2_000;

/** Reads blocks as they become final. */
export function createDepositScan(deps: DepositScanDeps) {
  const confirmer = new DepositConfirmer(deps);
  const outflows = new OutflowWitness(deps);
  return {
    /**
     * Moves the cursor along with the chain for `seconds`, has a second witness confirm what arrived, and prunes old headers. Where it
     * cannot go on it says so and tries again; while it is paused it tells how far the chain goes on without it, and does nothing else.
     * Any number may run at once: each block is committed by one. Answers how the scan stands at the end.
     */
    async scanTail({ seconds, since }: TailOrder): Promise<ScanStatus> {
      const reporter = new ScanReporter();
      const end = AbortSignal.any([
        cancellationSignal(),
        AbortSignal.timeout(seconds * 1_000),
        ...(deps.stop === undefined ? [] : [deps.stop]),
      ]);
      try {
        const announcer = new DepositAnnouncer(deps);
        const beside: Beside = { deps, end, defects: new Map() };
        const [status] = await Promise.all([
          follow(beside, reporter, since),
          keepLooking(beside, 'confirming deposits', () => confirmer.confirm(end)),
          keepLooking(beside, 'witnessing what left', () => outflows.witness(end), OUTFLOWS_EVERY_MS),
          look(beside, 'pruning headers', () => deps.ledger.keptBlocks.prune({ keptSlots: deps.keptSlots })),
          ...(deps.announces === true
            ? [keepLooking(beside, 'announcing deposits', () => announcer.announce())]
            : []),
        ]);
        return status;
      } finally {
        reporter.stop();
      }
    },
  };
}

/**
 * What is done beside the scan, and the defect that it fails by, by its name: nothing of it ends the scan, nor holds it up: at the `end`
 * of its turn the scan stands still until all of it has ended, too.
 */
interface Beside {
  readonly deps: DepositScanDeps;
  readonly end: AbortSignal;
  readonly defects: Map<string, string>;
}

async function follow(
  beside: Beside,
  reporter: ScanReporter,
  stoodSince: string | null,
): Promise<ScanStatus> {
  const { deps, end, defects } = beside;
  const scanner = new DepositScanner(deps);
  const alarms = new ScanAlarms(deps.ledger);
  let last: Stand = { state: 'starting', cursor: await cursorOr(deps, null), tip: null };
  let pace: Pace = NO_PACE;
  let since = dateOf(reporter.resumed === null ? stoodSince : sinceOf(reporter.resumed));
  let status = statusOf(last, pace, since, new Date());
  while (!end.aborted) {
    const began = performance.now();
    const { stand: reached, blocks } = await attempt(deps, scanner, last);
    const stand = withDefects(reached, defects);
    const now = new Date();
    since = standsSince(stand, since, now);
    await attend(beside, 'keeping alerts', () => alarms.note(stand, since, now));
    if (blocks === 0) await rest(stand.state === 'tail' ? (deps.pollMs ?? POLL_MS) : WAIT_MS, end);
    pace = paceAfter(pace, blocks, (performance.now() - began) / 1_000);
    status = statusOf(stand, pace, since, new Date());
    reporter.show(status);
    deps.onStatus?.(status);
    last = stand;
  }
  return status;
}

async function attempt(
  deps: DepositScanDeps,
  scanner: DepositScanner,
  last: Stand,
): Promise<{ stand: Stand; blocks: number }> {
  try {
    const step = await scanner.step();
    return { stand: standOf(step), blocks: step.blocks };
  } catch (error) {
    if (!isOperational(error)) log.error('a step of the scan failed', { error });
    const cursor = await cursorOr(deps, last.cursor);
    return { stand: { cursor, tip: await tipOrNull(deps), ...haltAfter(error) }, blocks: 0 };
  }
}

/** The cursor on record, or the one that was known where the record cannot be read. */
function cursorOr({ ledger }: DepositScanDeps, known: Stand['cursor']): Promise<Stand['cursor']> {
  return ledger.scan.cursor().catch(() => known);
}

/** What a quorum has finalized; null where none answers: what was known before says nothing of how far the scan is behind. */
function tipOrNull({ pool }: DepositScanDeps): Promise<bigint | null> {
  return finalizedTip(pool).catch(() => null);
}

/** Blocks are read on; but what is left undone beside them is told as loudly as if they were not. */
function withDefects(stand: Stand, defects: ReadonlyMap<string, string>): Stand {
  const [first] = defects;
  if (first === undefined || 'why' in stand) return stand;
  const { cursor, tip } = stand;
  return { cursor, tip, state: 'waiting', why: first.join(': ') };
}

function standOf(step: Step): Stand {
  const { cursor, tip } = step;
  const still = { cursor, tip };
  switch (step.stand) {
    case 'goes on':
      return { ...still, state: 'tail' };
    case 'idle':
      return tip <= cursor.slot
        ? { ...still, state: 'tail' }
        : {
            ...still,
            state: 'waiting',
            why: `no quorum of nodes agrees on a block above slot ${cursor.slot}`,
          };
    case 'gap': {
      const { from, to } = step.gap;
      return {
        ...still,
        state: 'gap',
        gap: step.gap,
        why: `no node shows the blocks from slot ${from} to ${to}`,
      };
    }
    case 'lost':
      return {
        ...still,
        state: 'stopped',
        why: `the chain that the nodes show does not hold block ${cursor.blockhash} of slot ${cursor.slot}`,
      };
  }
}

/** Does this again and again beside the scan. */
async function keepLooking(
  beside: Beside,
  name: string,
  work: () => Promise<unknown>,
  everyMs = beside.deps.pollMs ?? POLL_MS,
): Promise<void> {
  while (!beside.end.aborted) {
    await look(beside, name, work);
    await rest(everyMs, beside.end);
  }
}

/** Does this unless the scan is paused. */
function look(beside: Beside, name: string, work: () => Promise<unknown>): Promise<void> {
  return attend(beside, name, async () => {
    await beside.deps.ledger.scanPauses.assertNone();
    await work();
  });
}

/** Does this; where it fails it is left to the next time. */
async function attend({ defects }: Beside, name: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    defects.delete(name);
  } catch (error) {
    if (isOperational(error)) return;
    if (!defects.has(name)) log.error(`${name} failed`, { error });
    defects.set(name, haltAfter(error).why);
  }
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

async function rest(ms: number, end: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: end }).catch(() => undefined);
}
