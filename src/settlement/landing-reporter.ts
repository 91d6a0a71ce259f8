import { Context } from '@temporalio/activity';
import { LANDING_REPORT, type LandingReport } from '../domain/landing-report.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';

type Status = LandingReport['status'];

/** What a heartbeat carries: the report for people, and for the next try of the activity what the run was told. */
interface Beat extends LandingReport {
  readonly signature: string;
  readonly runShows: Status;
}

/**
 * Shows operators how a wait for a landing looks: each change in the heartbeat, and in the run's own state, by a signal, that it is
 * held, or no longer. A signal that fails is tried again with a later heartbeat. Made inside the activity that waits.
 */
export class LandingReporter {
  readonly #context = Context.current();
  readonly #signature: string;
  readonly #timer: NodeJS.Timeout;
  /** Callers of the run wait for `confirmed`: that is signalled, too. */
  #answersAtConfirmed = false;
  #report: LandingReport;
  #runShows: Status;
  #signalledAt = Number.NEGATIVE_INFINITY;
  /** What the last signal said, whether or not it arrived. */
  #signalled: Status | null = null;

  constructor(n: number, signature: string) {
    this.#signature = signature;
    this.#report = { n, status: 'sending', reason: null };
    const last = this.#context.info.heartbeatDetails as Partial<Beat> | undefined;
    this.#runShows = last?.runShows ?? 'sending';
    this.#timer = setInterval(() => this.#beat(), TIMEOUTS.heartbeatEveryMs);
  }

  /**
   * What is on record as the wait begins. Where callers of the run wait for `confirmed` it was told so before its first try; a later
   * one knows only what the last heartbeat says.
   */
  begin(report: LandingReport, answersAt: 'confirmed' | 'finalized'): void {
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
    // Callers that wait for `confirmed` do not wait for the pause between two signals.
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
