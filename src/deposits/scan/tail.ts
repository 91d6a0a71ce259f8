import { cancellationSignal, log } from '@temporalio/activity';
import { type ScanStatus, sinceOf, type TailOrder } from '../../domain/scan.ts';
import { givingUp } from '../../solana/rpc/giving-up.ts';
import { DepositAnnouncer } from '../credits/announce.ts';
import { DepositConfirmer } from '../credits/confirm.ts';
import { type BlockRate, NO_PACE, paceAfter } from './block-rate.ts';
import { haltAfter, isOperational, ScanAlarms } from './failure-alerts.ts';
import { standOf, tipOrNull, withDefects } from './progress.ts';
import { ScanReporter } from './progress-report.ts';
import { type ScanProgress, standsSince, statusOf } from './progress-view.ts';
import { DepositScanner, type ScannerDeps } from './scanner.ts';
import { BesideScan, type Defects, POLL_MS, rest } from './side-loop.ts';
import { meanwhile, type SlowLook, slowProgress } from './slow-read-alert.ts';

export interface DepositScanDeps extends ScannerDeps, SlowLook {
  /** Milliseconds between two checks for a new block. Default 400. */
  readonly pollMs?: number;
  /** Milliseconds between two tries while the scan is blocked. Default 2,000. */
  readonly waitMs?: number;
  /** True to announce deposits in confirmed blocks. Default false. */
  readonly announces?: boolean;
  /** Slots behind the cursor whose headers are kept. Default: see {@link KeptBlocks}. */
  readonly keptSlots?: bigint;
  readonly onStatus?: (status: ScanStatus) => void;
  /** Aborted at shutdown: other processes then continue the scan at once. */
  readonly stop?: AbortSignal;
}

const WAIT_MS = 2_000;

export function createDepositScan(deps: DepositScanDeps) {
  const paces: Paces = { last: NO_PACE };
  // Kept across turns, because a defect must last longer than one turn before it raises an alert.
  const defects: Defects = new Map();
  const confirmer = new DepositConfirmer(deps);
  return {
    /**
     * Follows the chain for `seconds`: moves the cursor, confirms deposits, prunes old headers.
     * Returns the last status. A blocked scan reports its reason and retries. A paused scan only reports the
     * chain's tip. Several may run at once, because each block is committed once.
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

/** Block rate kept across turns, so that a new turn does not start without one. */
interface Paces {
  last: BlockRate;
}

interface Scanning {
  readonly deps: DepositScanDeps;
  readonly beside: BesideScan;
  readonly turnEnd: AbortSignal;
  /** Aborted once blocks are no longer needed. At the end of a turn the current block is still read. */
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
  let last: ScanProgress = { state: 'starting', cursor: await cursorOr(deps, null), tip: null };
  let since = dateOf(reporter.resumed === null ? stoodSince : sinceOf(reporter.resumed));
  let status = statusOf(last, paces.last, since, new Date());
  const alarm = async (stand: ScanProgress): Promise<void> => {
    const now = new Date();
    since = standsSince(stand, since, now);
    await beside.attend('keeping alerts', () => alarms.note(stand, since, now));
  };
  const show = (stand: ScanProgress): void => {
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
        const slow = slowProgress(last, waitedMs);
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
  last: ScanProgress,
): Promise<{ stand: ScanProgress; blocks: number }> {
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

/** The stored cursor, or the known one while PostgreSQL is unavailable. */
function cursorOr(
  { ledger }: DepositScanDeps,
  known: ScanProgress['cursor'],
): Promise<ScanProgress['cursor']> {
  return ledger.scan.cursor().catch(() => known);
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}
