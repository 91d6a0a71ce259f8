import type { Warning } from '../client/deposit-addresses.ts';
import { WHOLE } from '../domain/alerts.ts';
import { DomainError } from '../domain/errors.ts';
import type { DepositAddressRow } from '../ledger/deposit-addresses.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type AddressManifest, checkManifest } from '../solana/address-manifest.ts';

/** Whose manifests are taken, and when the pool is low. */
export interface AddressRules {
  /** base58 public key; where none is set, manifests of any key are taken, but not on mainnet. */
  readonly manifestKey?: string | undefined;
  /** Fewer free addresses than this raise `addresses_low`. */
  readonly lowWater: number;
}

/** Addresses on their way into the pool and out of it, with an alert on how many are left. */
export class AddressPool {
  readonly #ledger: Ledger;
  readonly #rules: AddressRules;
  readonly #cluster: string;

  constructor(ledger: Ledger, rules: AddressRules, cluster: string) {
    this.#ledger = ledger;
    this.#rules = rules;
    this.#cluster = cluster;
  }

  /** The user's address, which is watched before it is answered. Throws NoFreeAddress. */
  async assign(userRef: string): Promise<DepositAddressRow> {
    const known = await this.#ledger.addresses.byUser(userRef);
    if (known !== undefined) return known;
    try {
      return await this.#ledger.addresses.assign(userRef);
    } finally {
      await this.#watch(await this.#ledger.addresses.freeCount(this.#rules.lowWater));
    }
  }

  /** Throws ManifestRejected, and then nothing is written. */
  async import(manifest: AddressManifest, since: bigint | null) {
    const { manifestKey } = this.#rules;
    if (manifestKey === undefined && this.#cluster === 'mainnet-beta')
      throw new DomainError(
        'ManifestRejected',
        'set SLUICE_ADDRESS_MANIFEST_KEY: on mainnet no other key may say which wallets are ours',
        { field: 'manifest.publicKey' },
      );
    await checkManifest(manifest, manifestKey);
    const counts = await this.#ledger.addresses.import(manifest.entries, since);
    const free = await this.#ledger.addresses.freeCount();
    return { ...counts, free, warnings: await this.#watch(free) };
  }

  async #watch(free: number): Promise<readonly Warning[]> {
    const { lowWater } = this.#rules;
    const kind = 'addresses_low';
    if (free >= lowWater) {
      await this.#ledger.alerts.close(kind, WHOLE);
      return [];
    }
    const message = `${free} deposit addresses are free, fewer than ${lowWater}: import more`;
    await this.#ledger.alerts.raise({ kind, subject: WHOLE, message, details: { free, lowWater } });
    return [{ code: kind, message }];
  }
}
