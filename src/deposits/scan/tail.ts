import { cancellationSignal, log } from '@temporalio/activity';
import type { ScanReport, ScanStatus, TailOrder } from '../../domain/scan.ts';
import { withAbort } from '../../solana/rpc/with-abort.ts';
import { DepositAnnouncer } from '../credits/announce.ts';
import { DepositConfirmer } from '../credits/confirm.ts';
import { haltAfter, isOperational, ScanAlarms, STALLED_MS } from './failure-alerts.ts';
import { REPORT_EVERY_MS, reportOf, slowReport, tipOrNull, withDefects } from './report.ts';
import { DepositScanner, type ScannerDeps } from './scanner.ts';
import { type Defects, meanwhile, rest, SideTasks } from './side-loop.ts';

export interface DepositScanDeps extends ScannerDeps {
  /** Milliseconds between two checks for a new block. Default 400. */
  readonly pollMs?: number;
  /** Milliseconds between two tries while the scan is blocked. Default 2,000. */
  readonly waitMs?: number;
  /** True to announce deposits in confirmed blocks. Default false. */
  readonly announces?: boolean;
  /** Slots behind the cursor whose headers are kept. Default: see {@link BlockHeaders}. */
  readonly retainedSlots?: bigint;
  /** Aborted at shutdown: other processes then continue the scan at once. */
  readonly stop?: AbortSignal;
}

const POLL_MS = 400;
const WAIT_MS = 2_000;

export function createDepositScan(deps: DepositScanDeps) {
  // Kept across turns, because a defect must last longer than one turn before it raises an alert.
  const defects: Defects = new Map();
  const { pollMs = POLL_MS } = deps;
  const confirmer = new DepositConfirmer(deps);
  return {
    /**
     * Follows the chain for `seconds`: moves the cursor, confirms deposits, prunes old headers.
     * Returns the last status; null if the database does not answer then. A blocked scan reports its reason and
     * retries. A paused scan only reports the chain's tip. Several may run at once, because each block is committed
     * once.
     */
    async scanTail({ seconds }: TailOrder): Promise<ScanStatus | null> {
      const abandons = [cancellationSignal(), deps.stop];
      const scan = async (turnEnd: AbortSignal, abandoned: AbortSignal): Promise<void> => {
        const tasks = new SideTasks(deps.ledger, pollMs, defects, turnEnd);
        const announcer = new DepositAnnouncer(deps);
        await Promise.all([
          follow({ deps, tasks, turnEnd, abandoned }),
          tasks.repeat('confirming deposits', () => confirmer.confirm(turnEnd)),
          tasks.runUnlessPaused('pruning headers', () =>
            deps.ledger.blockHeaders.prune({ retainedSlots: deps.retainedSlots }),
          ),
          ...(deps.announces === true
            ? [tasks.repeat('announcing deposits', () => announcer.announce(turnEnd))]
            : []),
        ]);
      };
      const turn = (turnEnd: AbortSignal) => withAbort((abandoned) => scan(turnEnd, abandoned), ...abandons);
      await withAbort(turn, AbortSignal.timeout(seconds * 1_000), ...abandons);
      return deps.ledger.scanStatus.read().catch(() => null);
    },
  };
}

interface Scanning {
  readonly deps: DepositScanDeps;
  readonly tasks: SideTasks;
  readonly turnEnd: AbortSignal;
  /** Aborted once blocks are no longer needed. At the end of a turn the current block is still read. */
  readonly abandoned: AbortSignal;
}

async function follow(scanning: Scanning): Promise<void> {
  const { deps, tasks, turnEnd, abandoned } = scanning;
  const { slowMs = STALLED_MS, pollMs = POLL_MS, waitMs = WAIT_MS } = deps;
  const scanner = new DepositScanner(deps, abandoned);
  const reporter = new StatusReporter(deps, tasks);
  while (!turnEnd.aborted) {
    const step = attempt(scanning, scanner);
    const reached = await meanwhile(step, Math.min(slowMs, REPORT_EVERY_MS), (waitedMs) =>
      reporter.noteWaiting(waitedMs, slowMs),
    );
    if (reached === null) return;
    const report = withDefects(reached.report, tasks.defects);
    await reporter.note(report);
    if (reached.blocks === 0) await rest(report.state === 'tail' ? pollMs : waitMs, turnEnd);
  }
}

/** Null once blocks are no longer needed. */
async function attempt(
  { deps, abandoned }: Scanning,
  scanner: DepositScanner,
): Promise<{ readonly report: ScanReport; readonly blocks: number } | null> {
  try {
    const step = await scanner.step();
    return { report: reportOf(step), blocks: step.blocks };
  } catch (error) {
    if (abandoned.aborted) return null;
    if (!isOperational(error)) log.error('a step of the scan failed', { error });
    return { report: { ...haltAfter(error), tip: await tipOrNull(deps.pool) }, blocks: 0 };
  }
}

/** Stores the reports of one turn: a change of state at once, else one at intervals. Keeps the alerts too. */
class StatusReporter {
  readonly #deps: DepositScanDeps;
  readonly #tasks: SideTasks;
  readonly #alarms: ScanAlarms;
  #last: ScanReport | null = null;
  #storedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: DepositScanDeps, tasks: SideTasks) {
    this.#deps = deps;
    this.#tasks = tasks;
    this.#alarms = new ScanAlarms(deps.ledger, deps.slowMs);
  }

  /** `haltedMs`: how long a standstill has lasted by now. */
  async note(report: ScanReport, haltedMs = 0): Promise<void> {
    const isNew = report.state !== this.#last?.state;
    this.#last = report;
    if (!isNew && performance.now() - this.#storedAt < REPORT_EVERY_MS) return;
    this.#storedAt = performance.now();
    await this.#tasks.run('keeping alerts', async () =>
      this.#alarms.note(await this.#deps.ledger.scanStatus.report(report, haltedMs)),
    );
  }

  /** A step has not ended yet. */
  async noteWaiting(waitedMs: number, slowMs: number): Promise<void> {
    const last = this.#last;
    if (waitedMs >= slowMs) return this.note(slowReport(last?.tip ?? null, waitedMs), waitedMs);
    if (last !== null) return this.note(last);
    await this.#tasks.run('keeping alerts', () => this.#deps.ledger.scanStatus.recordActivity(false));
  }
}
