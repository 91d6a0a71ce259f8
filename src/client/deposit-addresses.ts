import type { DepositAddressState } from '../domain/deposit.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { DepositAddressState };

/** Something to know that changes nothing: a stable code for programs, a sentence for people. */
export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** A wallet that is watched for deposits. Slots are decimal strings, times ISO-8601. */
export interface DepositAddress {
  readonly address: string;
  /** Derivation path of its key, for the system that holds the keys. */
  readonly path: string;
  readonly state: DepositAddressState;
  /** Your id of its user; null until it is assigned. */
  readonly userRef: string | null;
  /** Slot from which the address was audited before it became free; null if it was new when imported. */
  readonly since: string | null;
  readonly createdAt: string;
  readonly assignedAt: string | null;
  readonly warnings: readonly Warning[];
}

/** Wallets with the signature of the place where their keys are: docs/deposits.md. */
export interface AddressManifest {
  readonly version: 1;
  readonly publicKey: string;
  readonly entries: readonly { readonly path: string; readonly address: string }[];
  readonly signature: string;
}

/** How a manifest is taken in. */
export interface ImportOptions extends CallOptions {
  /** The addresses may have been paid from this slot on, a decimal string: they are audited from there, and given out after that. */
  readonly since?: string;
  /**
   * The new ones are watched, and given to nobody before {@link DepositAddressCalls.release}: for those that users were given in a
   * newer record than the one that was restored. @default false
   */
  readonly keptBack?: boolean;
}

/** What an import did: addresses that are new, those that were there already, and how many can be given out now. */
export interface AddressImport {
  readonly imported: number;
  readonly known: number;
  readonly free: number;
  readonly warnings: readonly Warning[];
}

/** How many addresses were kept back until now, and how many can be given out. */
export interface AddressRelease {
  readonly released: number;
  readonly free: number;
}

/** Where a token for a deposit address arrives. */
export interface TokenAccount {
  readonly address: string;
  readonly mint: string;
  /** Token program of the mint; null for SOL. */
  readonly program: string | null;
  /** Associated token account that receives the token; null for SOL, which the address itself receives. */
  readonly tokenAccount: string | null;
  /** Whether deposits of the asset are credited. */
  readonly depositsOn: boolean;
}

const ROOT = '/v1/deposit-addresses';

/** Calls about the wallets that users pay to. */
export class DepositAddressCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns the address of this user, and assigns a free one the first time. The scan watches the address before the response is sent.
   *
   * @throws SluiceError `NoFreeAddress` (409) if the pool is empty, `Unavailable` (503) before the scan has begun, `RecordInDoubt` (503)
   * where the record was restored and may have forgotten whose an address is.
   */
  assign(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'POST', path: ROOT, body: { userRef } }, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(address: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'GET', path: `${ROOT}/${pathPart(address)}` }, options);
  }

  /** @throws SluiceError `NotFound` (404) where the user has none yet. */
  ofUser(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'GET', path: `${ROOT}${queryOf({ userRef })}` }, options);
  }

  /**
   * Imports the addresses of a signed manifest. A repeated import changes nothing.
   *
   * @throws SluiceError `ManifestRejected` (409), which names the field.
   */
  import(manifest: AddressManifest, { signal, ...how }: ImportOptions = {}): Promise<AddressImport> {
    const body = { manifest, ...how };
    return this.#transport.call({ method: 'POST', path: `${ROOT}/import`, body }, { signal });
  }

  /**
   * Lets the addresses be given out again that are `doubtful` since the record was restored. Only for who knows that no user was given
   * one after the backup: else two users get the same.
   */
  release(reason: string, options?: CallOptions): Promise<AddressRelease> {
    return this.#transport.call({ method: 'POST', path: `${ROOT}/release`, body: { reason } }, options);
  }

  /** @throws SluiceError `NotFound` (404), `AssetRejected` (409) for what is no mint. */
  async tokenAccount(address: string, mint: string, options?: CallOptions): Promise<TokenAccount> {
    return this.#transport.call(
      {
        method: 'GET',
        path: `${ROOT}/${pathPart(address)}/assets/${pathPart(mint)}`,
      },
      options,
    );
  }
}
