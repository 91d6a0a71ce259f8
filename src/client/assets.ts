import type { Warning } from './deposit-addresses.ts';
import { pathPart, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** What may be deposited. Amounts are base units as decimal strings. */
export interface Asset {
  /** `SOL` or the address of a mint. */
  readonly asset: string;
  /** Token program of the mint; null for SOL. */
  readonly program: string | null;
  readonly decimals: number;
  /** Names of the Token-2022 extensions of the mint. */
  readonly extensions: readonly string[];
  /** Address that can freeze every token account of the mint, including deposit accounts; null if the mint has none. */
  readonly freezeAuthority: string | null;
  /** Address that can transfer or burn the tokens of every holder, including deposit accounts; null if the mint has none. */
  readonly permanentDelegate: string | null;
  /** Less than this is recorded as `below_minimum`, and not credited. */
  readonly minimumDeposit: string;
  readonly depositsOn: boolean;
  /** Powers that the mint gives to its issuer. */
  readonly warnings: readonly Warning[];
}

/** What an operator decides of an asset; the rest is read from the chain. What is left out stays as it is. */
export interface AssetChange {
  /** @default '1' for a new token; for SOL what the chain demands of an account */
  readonly minimumDeposit?: string;
  /** @default true for a new one */
  readonly depositsOn?: boolean;
  /** Takes deposits of a token with a transfer hook although `SLUICE_TOKEN_POLICY` refuses to pay it out. For this call only. */
  readonly acceptTransferHook?: true;
}

/** Calls about what may be deposited. */
export class AssetCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(options?: CallOptions): Promise<readonly Asset[]> {
    const { assets } = await this.#transport.call<{ assets: readonly Asset[] }>(
      {
        method: 'GET',
        path: '/v1/assets',
      },
      options,
    );
    return assets;
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(asset: string, options?: CallOptions): Promise<Asset> {
    return this.#transport.call({ method: 'GET', path: `/v1/assets/${pathPart(asset)}` }, options);
  }

  /**
   * Lists an asset, or changes it. The nodes are asked anew what the mint is.
   *
   * @throws SluiceError `AssetRejected` (409) for what is no mint, or a mint with an extension that no deposit is safe with.
   */
  async put(asset: string, change: AssetChange = {}, options?: CallOptions): Promise<Asset> {
    const path = `/v1/assets/${pathPart(asset)}`;
    return this.#transport.call({ method: 'PUT', path, body: change }, options);
  }
}
