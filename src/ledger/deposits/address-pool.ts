import { type Alarm, WHOLE } from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../ledger.ts';
import type { DepositAddressRow } from './deposit-address-row.ts';
import type { ImportOptions, NewAddress } from './deposit-addresses.ts';

/** Counting stops at this number: the pool can have millions of free addresses. */
const MAX_FREE_COUNT = 10_000;

/**
 * Result of an import. `free` is counted up to {@link MAX_FREE_COUNT} or the low-water mark. `low` is the alert that
 * was raised, null if enough addresses are free.
 */
export interface ImportResult {
  readonly imported: number;
  readonly known: number;
  readonly free: number;
  readonly low: Alarm | null;
}

export class AddressPool {
  readonly #ledger: Pick<Ledger, 'addresses' | 'alerts' | 'scan'>;
  readonly #lowWater: number;

  /** Raises `addresses_low` while fewer than `lowWater` addresses are free. */
  constructor(ledger: Pick<Ledger, 'addresses' | 'alerts' | 'scan'>, lowWater: number) {
    this.#ledger = ledger;
    this.#lowWater = lowWater;
  }

  /**
   * Returns the user's address, which is already watched. Deposits to a newly assigned address belong to the user if
   * their slot is above `finalizedTip`; if that is null, above the newest slot that the scan has stored. Throws what
   * `finalizedTip` and `DepositAddresses.assign` throw.
   */
  async assign(userRef: string, finalizedTip: (() => Promise<bigint>) | null): Promise<DepositAddressRow> {
    const known = await this.#ledger.addresses.byUser(userRef);
    if (known !== undefined) return known;
    if (finalizedTip !== null) await this.#ledger.scan.recordTip(await finalizedTip());
    try {
      return await this.#ledger.addresses.assign(userRef);
    } finally {
      await this.#recount();
    }
  }

  /**
   * Raises or closes the alert. Call it at intervals, because deposits and audits change the count too. A pool that
   * was never filled does not count as low.
   */
  async updateAlert(): Promise<void> {
    if (!(await this.#ledger.addresses.isEmpty())) await this.#recount();
  }

  /** Imports addresses that the operator has verified: see `DepositAddresses.import`. */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null,
    options: ImportOptions = {},
  ): Promise<ImportResult> {
    const counts = await this.#ledger.addresses.import(entries, since, options);
    const free = await this.#ledger.addresses.freeCount(Math.max(MAX_FREE_COUNT, this.#lowWater));
    return { ...counts, free, low: await this.#raiseIfLow(free) };
  }

  async #recount(): Promise<void> {
    await this.#raiseIfLow(await this.#ledger.addresses.freeCount(this.#lowWater));
  }

  async #raiseIfLow(free: number): Promise<Alarm | null> {
    const lowWater = this.#lowWater;
    const message = `${free} deposit addresses are free, fewer than ${lowWater}: import more`;
    const alarm = { kind: 'addresses_low', subject: WHOLE, message, details: { free, lowWater } } as const;
    const alarms = free < lowWater ? [alarm] : [];
    await this.#ledger.alerts.syncOpen([alarm.kind], alarms);
    return alarms[0] ?? null;
  }
}

/** Throws NotFound if `row` is undefined. */
export function knownAddress(row: DepositAddressRow | undefined): DepositAddressRow {
  if (row === undefined) throw new DomainError('NotFound', 'there is no such deposit address');
  return row;
}
