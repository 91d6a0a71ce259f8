import type { Asset, AssetChange, Assets } from './api.ts';
import { pathPart, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export class AssetCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(options?: CallOptions): Promise<readonly Asset[]> {
    const request = { method: 'GET', path: '/v1/assets' } as const;
    const { assets } = await this.#transport.call<Assets>(request, options);
    return assets;
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(asset: string, options?: CallOptions): Promise<Asset> {
    return this.#transport.call({ method: 'GET', path: `/v1/assets/${pathPart(asset)}` }, options);
  }

  /**
   * Lists an asset, or changes it. Reads the mint from the nodes again.
   *
   * @throws SluiceError `AssetRejected` (409) if it is not a mint, or has an extension that makes deposits unsafe.
   */
  async put(asset: string, change: AssetChange = {}, options?: CallOptions): Promise<Asset> {
    const path = `/v1/assets/${pathPart(asset)}`;
    return this.#transport.call({ method: 'PUT', path, body: change }, options);
  }
}
