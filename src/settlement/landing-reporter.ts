import { Context } from '@temporalio/activity';
import { LANDING_REPORT, type LandingReport } from '../domain/landing-report.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';

/** What a heartbeat carries: the report for people, and for the next try of the activity what the run was told. */
interface Beat extends LandingReport {
  readonly signature: string;
  readonly runShowsHeld: boolean;
}

/**
 * Shows operators how a wait for a landing looks: each change in the heartbeat, and that it is held, or no longer, in the run's
 * own state by a signal. A signal that fails is tried again with a later heartbeat. Made inside the activity that waits.
 */
export class LandingReporter {
  readonly #context = Context.current();
  readonly #signature: string;
  readonly #timer: NodeJS.Timeout;
  #report: LandingReport;
  #runShowsHeld: boolean;
  #signalledAt = Number.NEGATIVE_INFINITY;

  constructor(n: number, signature: string) {
    this.#signature = signature;
    this.#report = { n, status: 'sending', reason: null };
    const last = this.#context.info.heartbeatDetails as Partial<Beat> | undefined;
    this.#runShowsHeld = last?.runShowsHeld ?? false;
    this.#timer = setInterval(() => this.#beat(), TIMEOUTS.heartbeatEveryMs);
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
    const beat: Beat = { ...this.#report, signature: this.#signature, runShowsHeld: this.#runShowsHeld };
    this.#context.heartbeat(beat);
  }

  #keepRunInformed(): void {
    const isHeld = this.#report.status === 'held';
    const due = performance.now() - this.#signalledAt >= TIMEOUTS.landingSignalMs;
    if (isHeld !== this.#runShowsHeld && due) void this.#signal(isHeld);
  }

  async #signal(isHeld: boolean): Promise<void> {
    this.#signalledAt = performance.now();
    this.#runShowsHeld = isHeld;
    const { client, info, log } = this.#context;
    try {
      const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
      await client.workflow.getHandle(workflowId, runId).signal(LANDING_REPORT, this.#report);
    } catch (error) {
      this.#runShowsHeld = !isHeld;
      log.warn('the run was not told how its wait for a landing looks', { error });
    }
  }
}
