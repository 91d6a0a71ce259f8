import type { DepositAddressState } from '../domain/deposit.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { DepositAddressState };

/** Information that changes no behaviour: a stable code for programs and a sentence for people. */
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
  /** Your id of the user; null until the address is assigned. */
  readonly userRef: string | null;
  /** Slot from which the address was audited before it became free; null if it was new when imported. */
  readonly since: string | null;
  readonly createdAt: string;
  readonly assignedAt: string | null;
  readonly warnings: readonly Warning[];
}

/** Wallets, signed by the system that holds their keys: docs/deposits.md. */
export interface AddressManifest {
  readonly version: 1;
  readonly publicKey: string;
  readonly entries: readonly { readonly path: string; readonly address: string }[];
  readonly signature: string;
}

export interface ImportOptions extends CallOptions {
  /** First slot (decimal string) of possible deposits. Addresses are audited from it before they are assignable. */
  readonly since?: string;
}

/** Numbers of new, of already known, and of assignable addresses. */
export interface AddressImport {
  readonly imported: number;
  readonly known: number;
  readonly free: number;
  readonly warnings: readonly Warning[];
}

export interface TokenAccount {
  readonly address: string;
  readonly mint: string;
  /** Token program of the mint; null for SOL. */
  readonly program: string | null;
  /** Associated token account that receives the token; null for SOL, which the address receives directly. */
  readonly tokenAccount: string | null;
  readonly depositsOn: boolean;
}

const ROOT = '/v1/deposit-addresses';

export class DepositAddressCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns the address of this user, and assigns a free one the first time. The scan watches it before the
   * response is sent.
   *
   * @throws SluiceError `NoFreeAddress` (409) if the pool is empty, `Unavailable` (503) before the scan has begun,
   * `RecordInDoubt` (503) if the database was restored and may have lost assignments.
   */
  assign(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'POST', path: ROOT, body: { userRef } }, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(address: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'GET', path: `${ROOT}/${pathPart(address)}` }, options);
  }

  /** @throws SluiceError `NotFound` (404) if the user has no address yet. */
  ofUser(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.#transport.call({ method: 'GET', path: `${ROOT}${queryOf({ userRef })}` }, options);
  }

  /**
   * Imports the addresses of a signed manifest. Idempotent.
   *
   * @throws SluiceError `ManifestRejected` (409), which names the field.
   */
  import(manifest: AddressManifest, { signal, ...how }: ImportOptions = {}): Promise<AddressImport> {
    const body = { manifest, ...how };
    return this.#transport.call({ method: 'POST', path: `${ROOT}/import`, body }, { signal });
  }

  /** @throws SluiceError `NotFound` (404), `AssetRejected` (409) if `mint` is not a mint. */
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
