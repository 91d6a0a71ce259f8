import { type Alarm, WHOLE_SYSTEM } from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../ledger.ts';
import type { DepositAddressRow } from './deposit-address-row.ts';
import type { ImportOptions, NewAddress } from './deposit-addresses.ts';

/** Counting all free addresses would read millions of rows. */
const MAX_COUNTED = 10_000;

/** `free` is counted up to {@link MAX_COUNTED} or the low-water mark. `low`: the alert, null if enough are free. */
export interface Imported {
  readonly imported: number;
  readonly known: number;
  readonly free: number;
  readonly low: Alarm | null;
}

export class AddressPool {
  readonly #ledger: Pick<Ledger, 'addresses' | 'alerts' | 'scan'>;
  readonly #lowWater: number;

  /** Fewer free addresses than `lowWater` raise `addresses_low`. */
  constructor(ledger: Pick<Ledger, 'addresses' | 'alerts' | 'scan'>, lowWater: number) {
    this.#ledger = ledger;
    this.#lowWater = lowWater;
  }

  /**
   * Returns the user's address, which is watched by then. A new one is the user's from `finalizedTip` on; if that is
   * null, from the newest slot that a scan has seen. Throws as `finalizedTip` and `DepositAddresses.assign` do.
   */
  async assign(userRef: string, finalizedTip: (() => Promise<bigint>) | null): Promise<DepositAddressRow> {
    const known = await this.#ledger.addresses.byUser(userRef);
    if (known !== undefined) return known;
    if (finalizedTip !== null) await this.#ledger.scan.seen(await finalizedTip());
    try {
      return await this.#ledger.addresses.assign(userRef);
    } finally {
      await this.#count();
    }
  }

  /** Updates the alert: deposits and audits change the count too. A pool that was never filled is not low. */
  async look(): Promise<void> {
    if (!(await this.#ledger.addresses.isEmpty())) await this.#count();
  }

  /** Imports addresses that the operator has verified: see `DepositAddresses.import`. */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const counts = await this.#ledger.addresses.import(entries, since, options);
    const free = await this.#ledger.addresses.freeCount(Math.max(MAX_COUNTED, this.#lowWater));
    return { ...counts, free, low: await this.#watch(free) };
  }

  async #count(): Promise<void> {
    await this.#watch(await this.#ledger.addresses.freeCount(this.#lowWater));
  }

  async #watch(free: number): Promise<Alarm | null> {
    const lowWater = this.#lowWater;
    const message = `${free} deposit addresses are free, fewer than ${lowWater}: import more`;
    const alarm = {
      kind: 'addresses_low',
      subject: WHOLE_SYSTEM,
      message,
      details: { free, lowWater },
    } as const;
    const low = free < lowWater ? [alarm] : [];
    await this.#ledger.alerts.keepOnly([alarm.kind], low);
    return low[0] ?? null;
  }
}

/** Throws NotFound if `row` is undefined. */
export function knownAddress(row: DepositAddressRow | undefined): DepositAddressRow {
  if (row === undefined) throw new DomainError('NotFound', 'there is no such deposit address');
  return row;
}
