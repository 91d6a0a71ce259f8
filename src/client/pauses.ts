import type { Bodies, Pause, Pauses } from './api.ts';
import { Calls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

export type PauseOptions = CallOptions & Omit<Bodies['pausePayments'], 'reason'>;
export type ResumeOptions = CallOptions & Omit<Bodies['resumePayments'], 'reason'>;

export class PauseCalls extends Calls {
  /** The open pauses, oldest first. */
  open(options?: CallOptions): Promise<readonly Pause[]> {
    return pausesIn(this.read('/v1/pause', options));
  }

  /** Stops the preparation of attempts. Prepared attempts are still signed and sent. Returns the open pauses. */
  begin(reason: string, { signal, scope }: PauseOptions = {}): Promise<readonly Pause[]> {
    return pausesIn(this.send('POST', '/v1/pause', { reason, scope }, { signal }));
  }

  /**
   * Ends every pause, or those of one scope, and closes the alerts that caused them. Returns the ended pauses.
   *
   * @throws SluiceError `AlertsUnseen` (409) if `seen` lacks one of these alerts; then no pause is ended.
   */
  end(reason: string, { signal, ...body }: ResumeOptions = {}): Promise<readonly Pause[]> {
    return pausesIn(this.send('POST', '/v1/resume', { reason, ...body }, { signal }));
  }
}

const pausesIn = async (answer: Promise<Pauses>) => (await answer).pauses;
