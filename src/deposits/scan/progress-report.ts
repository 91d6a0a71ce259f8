import { Context } from '@temporalio/activity';
import { SCAN_REPORT, type ScanStatus } from '../../domain/scan.ts';
import { parseScanStatus } from '../../domain/scan-status-parse.ts';
import { TIMEOUTS } from '../../domain/timeouts.ts';

/** Milliseconds between signals: each adds about five history events. */
const SIGNAL_EVERY_MS = 10_000;

/**
 * Reports the scan's status: in each heartbeat, and by a signal to the workflow. It signals each change of
 * state at once, and progress at intervals. The next signal makes up for a failed one. Construct it inside
 * the scanning activity.
 */
export class ScanReporter {
  readonly #context = Context.current();
  readonly #timer: NodeJS.Timeout;
  /** Last status of an earlier try whose worker died, or null. */
  readonly resumed: ScanStatus | null;
  #status: ScanStatus | null;
  #told: ScanStatus | null = null;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor() {
    this.resumed = parseScanStatus(this.#context.info.heartbeatDetails);
    this.#status = this.resumed;
    this.#timer = setInterval(() => this.#context.heartbeat(this.#status), TIMEOUTS.heartbeatEveryMs);
  }

  show(status: ScanStatus): void {
    this.#status = status;
    const isNew = status.state !== this.#told?.state;
    const moved = status.cursor?.slot !== this.#told?.cursor?.slot || status.tip !== this.#told?.tip;
    const due = performance.now() - this.#toldAt >= SIGNAL_EVERY_MS;
    if (isNew || (moved && due)) void this.#tell(status);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #tell(status: ScanStatus): Promise<void> {
    this.#told = status;
    this.#toldAt = performance.now();
    const { info, log } = this.#context;
    try {
      const { client } = this.#context;
      const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
      await client.workflow.getHandle(workflowId, runId).signal(SCAN_REPORT, status);
    } catch (error) {
      log.warn('the run was not told how the scan stands', { error });
    }
  }
}
