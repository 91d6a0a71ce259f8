import { Context } from '@temporalio/activity';
import type { AwaitedCommitment } from '../domain/settlement.ts';
import { LANDING_REPORT, type LandingReport } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';

type Status = LandingReport['status'];

/** Heartbeat details: the report, and the status that the workflow has, for the next try of the activity. */
interface Beat extends LandingReport {
  readonly signature: string;
  readonly runShows: Status;
}

/**
 * Reports the wait for a landing: each change in the heartbeat, and held or no longer held by a signal to the
 * workflow. A failed signal is sent again with a later heartbeat. Construct it inside the waiting activity.
 */
export class LandingReporter {
  readonly #context = Context.current();
  readonly #signature: string;
  readonly #timer: NodeJS.Timeout;
  /** Callers of this kind wait for `confirmed`, so that status is signalled too. */
  #answersAtConfirmed = false;
  #report: LandingReport;
  #runShows: Status;
  #signalledAt = Number.NEGATIVE_INFINITY;
  /** Status of the last signal, delivered or not. */
  #signalled: Status | null = null;

  constructor(n: number, signature: string) {
    this.#signature = signature;
    this.#report = { n, status: 'sending', reason: null };
    const last = this.#context.info.heartbeatDetails as Partial<Beat> | undefined;
    this.#runShows = last?.runShows ?? 'sending';
    this.#timer = setInterval(() => this.#beat(), TIMEOUTS.heartbeatEveryMs);
  }

  /**
   * Sets the stored status when the wait begins. If callers wait for `confirmed`, the workflow knew it before
   * the first try. Later tries know only what the last heartbeat contains.
   */
  begin(report: LandingReport, answersAt: AwaitedCommitment): void {
    this.#answersAtConfirmed = answersAt === 'confirmed';
    const isFirst = this.#context.info.attempt === 1;
    if (this.#answersAtConfirmed && isFirst && report.status === 'confirmed') this.#runShows = 'confirmed';
    this.show(report);
  }

  show(report: LandingReport): void {
    this.#report = report;
    this.#keepRunInformed();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    this.#keepRunInformed();
    const beat: Beat = { ...this.#report, signature: this.#signature, runShows: this.#runShows };
    this.#context.heartbeat(beat);
  }

  #keepRunInformed(): void {
    const { status } = this.#report;
    const shown = status === 'confirmed' && !this.#answersAtConfirmed ? 'sending' : status;
    // Callers wait for `confirmed`, so its signal skips the pause between two signals.
    const isAwaited = shown === 'confirmed' && this.#signalled !== shown;
    const isDue = isAwaited || performance.now() - this.#signalledAt >= TIMEOUTS.landingSignalMs;
    if (shown !== this.#runShows && isDue) void this.#signal(shown);
  }

  async #signal(shown: Status): Promise<void> {
    this.#signalledAt = performance.now();
    this.#signalled = shown;
    const { client, info, log } = this.#context;
    try {
      const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
      await client.workflow.getHandle(workflowId, runId).signal(LANDING_REPORT, this.#report);
      this.#runShows = shown;
    } catch (error) {
      log.warn('the run was not told how its wait for a landing looks', { error });
    }
  }
}
