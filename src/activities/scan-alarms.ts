import { type Alarm, WHOLE } from '../domain/alerts.ts';
import { isDomainError } from '../domain/errors.ts';
import type { Stand } from '../domain/scan-pace.ts';
import { isDatabaseAway } from '../ledger/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { RpcError } from '../solana/rpc/errors.ts';

const KINDS = ['scan_gap', 'scan_stopped'] as const;
/** What stands still for so long without a word is an alarm, too. */
const STALLED_MS = 60_000;
const REPEATED_MS = 60_000;

/** Keeps the alerts about a scan that stands still in step with how it stands. */
export class ScanAlarms {
  readonly #ledger: Ledger;
  #shown: string | null = null;
  #raisedAt = Number.NEGATIVE_INFINITY;
  #movedAt = performance.now();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async note({ state, gap, why, cursor }: Stand): Promise<void> {
    const now = performance.now();
    if (why === null) {
      this.#movedAt = now;
      if (this.#shown !== 'none') await this.#ledger.alerts.keepOnly(KINDS, []);
      this.#shown = 'none';
      return;
    }
    const isCertain = state === 'gap' || state === 'stopped';
    if (!isCertain && now - this.#movedAt < STALLED_MS) return;
    const subject = gap?.from ?? WHOLE;
    const alarm: Alarm = {
      kind: gap === null ? 'scan_stopped' : 'scan_gap',
      subject,
      message: `the deposit scan stands still at slot ${cursor?.slot ?? 'none'}: ${why}`,
    };
    const key = `${alarm.kind} ${subject}`;
    if (key === this.#shown && now - this.#raisedAt < REPEATED_MS) return;
    this.#shown = key;
    this.#raisedAt = now;
    await this.#ledger.alerts.keepOnly(KINDS, [alarm]);
  }
}

/**
 * How a scan stands that could not go on: until nodes or the database answer again (`waiting`), or until people act (`stopped`): a
 * block of a version that this build cannot read is never skipped. Null for what is a defect.
 */
export function standAfter(error: unknown): Pick<Stand, 'state' | 'why'> | null {
  if (error instanceof RpcError) {
    const state = error.reaction === 'stop' || error.reaction === 'fatal' ? 'stopped' : 'waiting';
    return { state, why: error.message };
  }
  if (isDomainError(error, 'NotFound') || isDomainError(error, 'IllegalTransition'))
    return { state: 'stopped', why: error.message };
  if (isDomainError(error) && error.retryable) return { state: 'waiting', why: error.message };
  if (isDatabaseAway(error)) return { state: 'waiting', why: 'the database is away' };
  return null;
}
