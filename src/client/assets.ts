import type { Asset, AssetChange, Assets } from './api.ts';
import { Calls } from './calls.ts';
import { pathPart } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export class AssetCalls extends Calls {
  async list(options?: CallOptions): Promise<readonly Asset[]> {
    return (await this.read<Assets>('/v1/assets', options)).assets;
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(asset: string, options?: CallOptions): Promise<Asset> {
    return this.read(`/v1/assets/${pathPart(asset)}`, options);
  }

  /**
   * Adds an asset to the list, or changes it. Reads the mint from the nodes again.
   *
   * @throws SluiceError `AssetRejected` (409) if `asset` is not a mint, or has an extension that makes deposits unsafe.
   */
  async put(asset: string, change: AssetChange = {}, options?: CallOptions): Promise<Asset> {
    return this.send('PUT', `/v1/assets/${pathPart(asset)}`, change, options);
  }
}
