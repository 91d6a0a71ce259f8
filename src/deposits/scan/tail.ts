import { cancellationSignal, log } from '@temporalio/activity';
import { type ScanStatus, sinceOf, type TailOrder } from '../../domain/scan.ts';
import { givingUp } from '../../solana/rpc/giving-up.ts';
import { DepositAnnouncer } from '../credits/announce.ts';
import { DepositConfirmer } from '../credits/confirm.ts';
import { OutflowWitness } from '../credits/confirm-outflows.ts';
import { NO_PACE, type Pace, paceAfter } from './block-rate.ts';
import { haltAfter, isOperational, ScanAlarms } from './failure-alerts.ts';
import { standOf, tipOrNull, withDefects } from './progress.ts';
import { ScanReporter } from './progress-report.ts';
import { type Stand, standsSince, statusOf } from './progress-view.ts';
import { DepositScanner, type ScannerDeps } from './scanner.ts';
import { BesideScan, type Defects, POLL_MS, rest } from './side-loop.ts';
import { meanwhile, type SlowLook, slowStand } from './slow-read-alert.ts';

export interface DepositScanDeps extends ScannerDeps, SlowLook {
  /** Time between two looks for a new block. Default 400. */
  readonly pollMs?: number;
  /** Time between two tries while the scan cannot go on. Default 2,000. */
  readonly waitMs?: number;
  /** Whether deposits are told as soon as their block is confirmed. Default: no. */
  readonly announces?: boolean;
  /** Slots behind the cursor whose headers are kept. Default: as {@link KeptBlocks} says. */
  readonly keptSlots?: bigint;
  /** Told how the scan stands after each look. */
  readonly onStatus?: (status: ScanStatus) => void;
  /** Aborted when this process is to end: the scan is then left to others at once. */
  readonly stop?: AbortSignal;
}

const WAIT_MS = 2_000;
/** Nobody waits for it as users do for a deposit. */
const OUTFLOWS_EVERY_MS = 2_000;

/** Reads blocks as they become final. */
export function createDepositScan(deps: DepositScanDeps) {
  const paces: Paces = { last: NO_PACE };
  // A turn lasts no longer than a defect must before it raises an alert: the next turn needs to know of it.
  const defects: Defects = new Map();
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
      const abandons = [cancellationSignal(), deps.stop];
      const scan = async (turnEnd: AbortSignal, abandoned: AbortSignal): Promise<ScanStatus> => {
        const beside = new BesideScan(deps, defects, turnEnd);
        const announcer = new DepositAnnouncer(deps);
        const scanning: Scanning = { deps, beside, turnEnd, abandoned, paces };
        const [status] = await Promise.all([
          follow(scanning, reporter, since),
          beside.keepLooking('confirming deposits', () => confirmer.confirm(turnEnd)),
          beside.keepLooking('witnessing what left', () => outflows.witness(turnEnd), OUTFLOWS_EVERY_MS),
          beside.look('pruning headers', () => deps.ledger.keptBlocks.prune({ keptSlots: deps.keptSlots })),
          ...(deps.announces === true
            ? [beside.keepLooking('announcing deposits', () => announcer.announce(turnEnd))]
            : []),
        ]);
        return status;
      };
      const turn = (turnEnd: AbortSignal) => givingUp((abandoned) => scan(turnEnd, abandoned), ...abandons);
      try {
        return await givingUp(turn, AbortSignal.timeout(seconds * 1_000), ...abandons);
      } finally {
        reporter.stop();
      }
    },
  };
}

/** A turn goes on at the pace of the one before: it would begin with none. */
interface Paces {
  last: Pace;
}

interface Scanning {
  readonly deps: DepositScanDeps;
  readonly beside: BesideScan;
  readonly turnEnd: AbortSignal;
  /** Aborted when nobody waits for blocks any more. At the end of a turn the block that is read is still read, however long it is. */
  readonly abandoned: AbortSignal;
  readonly paces: Paces;
}

async function follow(
  scanning: Scanning,
  reporter: ScanReporter,
  stoodSince: string | null,
): Promise<ScanStatus> {
  const { deps, beside, turnEnd, abandoned, paces } = scanning;
  const scanner = new DepositScanner(deps, abandoned);
  const alarms = new ScanAlarms(deps.ledger, deps.slowMs);
  let last: Stand = { state: 'starting', cursor: await cursorOr(deps, null), tip: null };
  let since = dateOf(reporter.resumed === null ? stoodSince : sinceOf(reporter.resumed));
  let status = statusOf(last, paces.last, since, new Date());
  const alarm = async (stand: Stand): Promise<void> => {
    const now = new Date();
    since = standsSince(stand, since, now);
    await beside.attend('keeping alerts', () => alarms.note(stand, since, now));
  };
  const show = (stand: Stand): void => {
    status = statusOf(stand, paces.last, since, new Date());
    reporter.show(status);
    deps.onStatus?.(status);
  };
  while (!turnEnd.aborted) {
    const began = performance.now();
    const { stand: reached, blocks } = await meanwhile(
      attempt(scanning, scanner, last),
      deps,
      async (waitedMs) => {
        since ??= new Date(Date.now() - waitedMs);
        const slow = slowStand(last, waitedMs);
        await alarm(slow);
        show(slow);
      },
    );
    const stand = withDefects(reached, beside.defects);
    await alarm(stand);
    const pauseMs = stand.state === 'tail' ? (deps.pollMs ?? POLL_MS) : (deps.waitMs ?? WAIT_MS);
    if (blocks === 0) await rest(pauseMs, turnEnd);
    paces.last = paceAfter(paces.last, blocks, (performance.now() - began) / 1_000);
    show(stand);
    last = stand;
  }
  return status;
}

async function attempt(
  { deps, abandoned }: Scanning,
  scanner: DepositScanner,
  last: Stand,
): Promise<{ stand: Stand; blocks: number }> {
  try {
    const step = await scanner.step();
    return { stand: standOf(step), blocks: step.blocks };
  } catch (error) {
    if (abandoned.aborted) return { stand: last, blocks: 0 };
    if (!isOperational(error)) log.error('a step of the scan failed', { error });
    const cursor = await cursorOr(deps, last.cursor);
    return { stand: { cursor, tip: await tipOrNull(deps.pool), ...haltAfter(error) }, blocks: 0 };
  }
}

/** The cursor on record, or the one that was known where the record cannot be read. */
function cursorOr({ ledger }: DepositScanDeps, known: Stand['cursor']): Promise<Stand['cursor']> {
  return ledger.scan.cursor().catch(() => known);
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}
