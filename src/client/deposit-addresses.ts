import type { AddressImport, AddressManifest, Bodies, DepositAddress, TokenAccount } from './api.ts';
import { Calls } from './calls.ts';
import { pathPart, queryOf } from './transport.ts';
import type { CallOptions } from './waiting.ts';

const ROOT = '/v1/deposit-addresses';

export class DepositAddressCalls extends Calls {
  /**
   * Returns the address of this user, and assigns a free one the first time. The scan watches the address
   * before the response is sent.
   *
   * @throws SluiceError `NoFreeAddress` (409) if the pool is empty, `Unavailable` (503) before the scan has begun,
   * `DatabaseIncomplete` (503) if the database was restored and can lack assignments.
   */
  assign(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.send('POST', ROOT, { userRef }, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(address: string, options?: CallOptions): Promise<DepositAddress> {
    return this.read(`${ROOT}/${pathPart(address)}`, options);
  }

  /** @throws SluiceError `NotFound` (404) if the user has no address yet. */
  ofUser(userRef: string, options?: CallOptions): Promise<DepositAddress> {
    return this.read(`${ROOT}${queryOf({ userRef })}`, options);
  }

  /**
   * Imports the addresses of a signed manifest. Idempotent.
   *
   * @throws SluiceError `ManifestRejected` (409), which names the field.
   */
  import(
    manifest: AddressManifest,
    { signal, since }: CallOptions & Pick<Bodies['importDepositAddresses'], 'since'> = {},
  ): Promise<AddressImport> {
    return this.send('POST', `${ROOT}/import`, { manifest, since }, { signal });
  }

  /** @throws SluiceError `NotFound` (404), `AssetRejected` (409) if `mint` is not a mint. */
  async tokenAccount(address: string, mint: string, options?: CallOptions): Promise<TokenAccount> {
    return this.read(`${ROOT}/${pathPart(address)}/assets/${pathPart(mint)}`, options);
  }
}
