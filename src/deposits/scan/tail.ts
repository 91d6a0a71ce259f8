import { cancellationSignal, log } from '@temporalio/activity';
import type { ScanReport, ScanStatus, TailCommand } from '../../domain/scan.ts';
import { withAbort } from '../../solana/rpc/with-abort.ts';
import { DepositAnnouncer } from '../credits/announce.ts';
import { DepositConfirmer } from '../credits/confirm.ts';
import { haltAfter, isOperational, ScanAlarms, STALLED_MS } from './failure-alerts.ts';
import { REPORT_EVERY_MS, reportOf, slowReport, tipOrNull, withTaskFailures } from './report.ts';
import { DepositScanner, type ScannerDeps } from './scanner.ts';
import { type Defects, pause, SideTasks, tickUntilSettled } from './side-loop.ts';

export interface DepositScanDeps extends ScannerDeps {
  /** Time between two checks for a new block. Default 400. */
  readonly pollMs?: number;
  /** Time between two attempts while the scan is blocked. Default 2,000. */
  readonly waitMs?: number;
  /** True to announce deposits in confirmed blocks. Default false. */
  readonly announces?: boolean;
  /** Number of slots below the cursor whose headers are retained. Default: see `BlockHeaders`. */
  readonly retainedSlots?: bigint;
  /** Abort it at shutdown, so that the activity ends and another process continues the scan. */
  readonly shutdownSignal?: AbortSignal;
}

const POLL_MS = 400;
const WAIT_MS = 2_000;

export function createDepositScan(deps: DepositScanDeps) {
  // Shared by all turns, because a defect raises an alert only if it lasts longer than one turn.
  const defects: Defects = new Map();
  const { pollMs = POLL_MS } = deps;
  const confirmer = new DepositConfirmer(deps);
  return {
    /**
     * Follows the chain for `seconds`: moves the cursor, confirms deposits, prunes old headers. Returns the last
     * status; null if the database does not return it. A blocked scan reports its reason and retries. Several workers
     * can run this activity at the same time, because each block is committed only once.
     */
    async scanTail({ seconds }: TailCommand): Promise<ScanStatus | null> {
      const abortSignals = [cancellationSignal(), deps.shutdownSignal];
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
      const turn = (turnEnd: AbortSignal) =>
        withAbort((abandoned) => scan(turnEnd, abandoned), ...abortSignals);
      await withAbort(turn, AbortSignal.timeout(seconds * 1_000), ...abortSignals);
      return deps.ledger.scanStatus.read().catch(nullIfOperational);
    },
  };
}

/** For `catch`: returns null for an expected error, and throws a defect. */
function nullIfOperational(error: unknown): null {
  if (isOperational(error)) return null;
  throw error;
}

interface TurnContext {
  readonly deps: DepositScanDeps;
  readonly tasks: SideTasks;
  readonly turnEnd: AbortSignal;
  /**
   * Aborted on cancellation and shutdown: running reads are given up. At the end of a turn the current step completes.
   */
  readonly abandoned: AbortSignal;
}

async function follow(context: TurnContext): Promise<void> {
  const { deps, tasks, turnEnd, abandoned } = context;
  const { slowMs = STALLED_MS, pollMs = POLL_MS, waitMs = WAIT_MS } = deps;
  const scanner = new DepositScanner(deps, abandoned);
  const reporter = new StatusReporter(deps, tasks);
  while (!turnEnd.aborted) {
    const step = tryStep(context, scanner);
    const outcome = await tickUntilSettled(step, Math.min(slowMs, REPORT_EVERY_MS), (waitedMs) =>
      reporter.noteWaiting(waitedMs, slowMs),
    );
    if (outcome === null) return;
    const report = withTaskFailures(outcome.report, tasks.defects);
    await reporter.update(report);
    if (outcome.blocks === 0) await pause(report.state === 'tail' ? pollMs : waitMs, turnEnd);
  }
}

/** Runs one step. Null if the step failed after `abandoned` was aborted. */
async function tryStep(
  { deps, abandoned }: TurnContext,
  scanner: DepositScanner,
): Promise<{ readonly report: ScanReport; readonly blocks: number } | null> {
  try {
    const step = await scanner.step();
    return { report: reportOf(step), blocks: step.blocks };
  } catch (error) {
    if (abandoned.aborted) return null;
    if (!isOperational(error)) log.error('a step of the deposit scan failed', { error });
    return { report: { ...haltAfter(error), tip: await tipOrNull(deps.pool) }, blocks: 0 };
  }
}

/** Stores the reports of one turn: a new state immediately, others at intervals. Updates the alerts too. */
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

  /** `haltedMs`: how long the scan has made no progress before this report. */
  async update(report: ScanReport, haltedMs = 0): Promise<void> {
    const isNew = report.state !== this.#last?.state;
    this.#last = report;
    if (!isNew && performance.now() - this.#storedAt < REPORT_EVERY_MS) return;
    this.#storedAt = performance.now();
    await this.#tasks.run('keeping alerts', async () =>
      this.#alarms.update(await this.#deps.ledger.scanStatus.report(report, haltedMs)),
    );
  }

  /** Reports that the current step has not ended after `waitedMs`. */
  async noteWaiting(waitedMs: number, slowMs: number): Promise<void> {
    const last = this.#last;
    if (waitedMs >= slowMs) return this.update(slowReport(last?.tip ?? null, waitedMs), waitedMs);
    if (last !== null) return this.update(last);
    await this.#tasks.run('keeping alerts', () => this.#deps.ledger.scanStatus.recordActivity(false));
  }
}
