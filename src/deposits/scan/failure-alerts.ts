import { type Alarm, WHOLE } from '../../domain/alerts.ts';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import type { ScanReport, ScanStatus } from '../../domain/scan.ts';
import { isDatabaseUnavailable } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { RpcError } from '../../solana/rpc/errors.ts';

const SCAN_ALERT_KINDS = ['scan_gap', 'scan_stopped', 'scan_behind'] as const;
/** Lag in slots above which `scan_behind` is raised: ten minutes at 400 ms a slot, six at 250 ms. */
const MAX_LAG_SLOTS = 1_500n;
/** Default time after which a waiting scan raises an alert. */
export const STALLED_MS = 60_000;
const REPEAT_AFTER_MS = 60_000;

/** The state of a scan that makes no progress. `reason`: one sentence for operators. */
type HaltReport = Pick<ScanReport, 'state'> & { readonly reason: string };

/** Raises and closes the alerts about a stopped or lagging scan. */
export class ScanAlarms {
  readonly #ledger: Ledger;
  readonly #stalledMs: number;
  #notedKey: string | null = null;
  #raisedAt = Number.NEGATIVE_INFINITY;

  constructor(ledger: Ledger, stalledMs = STALLED_MS) {
    this.#ledger = ledger;
    this.#stalledMs = stalledMs;
  }

  /** Updates the alerts to `status`. A paused scan and a short wait change no alert. */
  async update(status: ScanStatus): Promise<void> {
    if (status.state === 'paused' || this.#isShortWait(status)) return;
    const alarms = alarmsOf(status);
    const key = alarms.map(({ kind, subject }) => `${kind} ${subject}`).join(' ');
    const isOld = performance.now() - this.#raisedAt >= REPEAT_AFTER_MS;
    if (key === this.#notedKey && (alarms.length === 0 || !isOld)) return;
    await this.#ledger.alerts.syncOpen(SCAN_ALERT_KINDS, alarms);
    this.#notedKey = key;
    this.#raisedAt = performance.now();
  }

  #isShortWait(status: ScanStatus): boolean {
    if (status.state !== 'waiting' || status.at === null) return false;
    return Date.parse(status.at) - Date.parse(status.since) < this.#stalledMs;
  }
}

function alarmsOf(status: ScanStatus): readonly Alarm[] {
  const { cursor, tip, lag } = status;
  const alarms: Alarm[] = [];
  if ('reason' in status) {
    const alert =
      status.state === 'gap'
        ? ({ kind: 'scan_gap', subject: status.gap.from } as const)
        : ({ kind: 'scan_stopped', subject: WHOLE } as const);
    const slot = cursor?.slot ?? 'none';
    alarms.push({
      ...alert,
      message: `the deposit scan makes no progress at slot ${slot}: ${status.reason}`,
    });
  }
  if (cursor !== null && tip !== null && BigInt(lag ?? 0) > MAX_LAG_SLOTS) {
    const message = `the deposit scan is at slot ${cursor.slot}, ${lag} slots behind the newest finalized slot`;
    alarms.push({ kind: 'scan_behind', subject: WHOLE, message });
  }
  return alarms;
}

/**
 * Raises `scan_silent` if no worker reports the state of the scan, and closes it otherwise. Call it about once a
 * minute, in a process that is not a chain worker. A scan that was never started is not silent.
 */
export async function updateSilenceAlert({ alerts, scanStatus }: Ledger): Promise<void> {
  const { state, at } = await scanStatus.read();
  if (state !== 'silent') return void (await alerts.close('scan_silent', WHOLE));
  const message = `no worker has reported the state of the deposit scan since ${at}: Temporal does not answer, or no chain worker runs`;
  await alerts.raise({ kind: 'scan_silent', subject: WHOLE, message, details: { since: at } });
}

/**
 * The state of a scan after an error. `waiting`: the scan retries. `paused`, `stopped`: an operator must act, for
 * example for a transaction of an unknown version, which is never skipped. An unexpected error is retried too, because
 * another worker might succeed; if it persists, an alert describes it.
 */
export function haltAfter(error: unknown): HaltReport {
  if (isDomainError(error, 'ScanPaused')) return { state: 'paused', reason: error.message };
  if (error instanceof RpcError) {
    const state = error.reaction === 'stop' || error.reaction === 'fatal' ? 'stopped' : 'waiting';
    return { state, reason: error.message };
  }
  if (isDomainError(error)) return { state: error.retryable ? 'waiting' : 'stopped', reason: error.message };
  if (isDatabaseUnavailable(error))
    return { state: 'waiting', reason: `the database cannot be written to: ${messageOf(error)}` };
  return { state: 'waiting', reason: describeDefect(error) };
}

export function describeDefect(error: unknown): string {
  const text = `${error instanceof Error ? error.name : 'error'}: ${messageOf(error)}`;
  return `unexpected error, probably a bug in Sluice: ${text}; it is retried. Report it if it persists`;
}

/**
 * True for expected errors: of nodes, of the database, or a DomainError. Any other error is probably a bug in Sluice.
 */
export function isOperational(error: unknown): boolean {
  return error instanceof RpcError || isDomainError(error) || isDatabaseUnavailable(error);
}
