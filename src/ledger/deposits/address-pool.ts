import { type Alarm, WHOLE } from '../../domain/alerts.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../ledger.ts';
import type { DepositAddressRow } from './deposit-address-row.ts';
import type { ImportOptions, NewAddress } from './deposit-addresses.ts';

/** A count of all would look at each of millions of free addresses. */
const MOST_COUNTED = 10_000;

/** What an import came to. `free` counts no more than {@link MOST_COUNTED}, or than the low water; `low` is the alert that too few are free even now; null where enough are. */
export interface Imported {
  readonly imported: number;
  readonly known: number;
  readonly free: number;
  readonly low: Alarm | null;
}

/** What a release came to: how many were kept back until now, and how many can be given out. */
export interface Released {
  readonly released: number;
  readonly free: number;
}

/** Addresses on their way into the pool and out of it, with an alert on how many are left. */
export class AddressPool {
  readonly #addresses: Ledger['addresses'];
  readonly #alerts: Ledger['alerts'];
  readonly #scan: Ledger['scan'];
  readonly #lowWater: number;

  /** Fewer free addresses than `lowWater` raise `addresses_low`. */
  constructor({ addresses, alerts, scan }: Pick<Ledger, 'addresses' | 'alerts' | 'scan'>, lowWater: number) {
    this.#addresses = addresses;
    this.#alerts = alerts;
    this.#scan = scan;
    this.#lowWater = lowWater;
  }

  /**
   * The user's address, which is watched before it is answered. A new one is the user's from `finalizedTip` on, whether a scan runs or
   * not; where that is null, from the newest slot that a scan has seen on. Throws as that and `DepositAddresses.assign` do.
   */
  async assign(userRef: string, finalizedTip: (() => Promise<bigint>) | null): Promise<DepositAddressRow> {
    const known = await this.#addresses.byUser(userRef);
    if (known !== undefined) return known;
    if (finalizedTip !== null) await this.#scan.seen(await finalizedTip());
    try {
      return await this.#addresses.assign(userRef);
    } finally {
      await this.#count();
    }
  }

  /**
   * Keeps the alert in step with how many are free, which what is paid, dropped and audited changes, too. A pool that nobody has begun
   * to fill is not low.
   */
  async look(): Promise<void> {
    if (!(await this.#addresses.isEmpty())) await this.#count();
  }

  /** Takes in addresses that somebody has vouched for; see `DepositAddresses.import`. */
  async import(
    entries: readonly NewAddress[],
    since: bigint | null,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const counts = await this.#addresses.import(entries, since, options);
    const free = await this.#free();
    return { ...counts, free, low: await this.#watch(free) };
  }

  /** Lets those be assigned again that a restored record kept back, for whoever knows that no user has one. */
  async release(actor: string, reason: string): Promise<Released> {
    const released = await this.#addresses.release(actor, reason);
    const free = await this.#free();
    await this.#watch(free);
    return { released, free };
  }

  #free(): Promise<number> {
    return this.#addresses.freeCount(Math.max(MOST_COUNTED, this.#lowWater));
  }

  async #count(): Promise<void> {
    await this.#watch(await this.#addresses.freeCount(this.#lowWater));
  }

  async #watch(free: number): Promise<Alarm | null> {
    const [kind, lowWater] = ['addresses_low' as const, this.#lowWater];
    if (free >= lowWater) {
      await this.#alerts.close(kind, WHOLE);
      return null;
    }
    const message = `${free} deposit addresses are free, fewer than ${lowWater}: import more`;
    const alarm = { kind, subject: WHOLE, message, details: { free, lowWater } };
    await this.#alerts.raise(alarm);
    return alarm;
  }
}

/** Throws NotFound where the record has no such address. */
export function knownAddress(row: DepositAddressRow | undefined): DepositAddressRow {
  if (row === undefined) throw new DomainError('NotFound', 'there is no such deposit address');
  return row;
}
