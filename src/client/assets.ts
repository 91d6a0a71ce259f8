import type { Warning } from './deposit-addresses.ts';
import { pathPart, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** An asset that may be deposited. Amounts are base units as decimal strings. */
export interface Asset {
  /** `SOL` or the address of a mint. */
  readonly asset: string;
  /** Token program of the mint; null for SOL. */
  readonly program: string | null;
  readonly decimals: number;
  readonly extensions: readonly string[];
  /** Address that can freeze every token account of the mint, deposit accounts included; null without one. */
  readonly freezeAuthority: string | null;
  /** Address that can transfer or burn the tokens of every holder, deposit accounts included; null without one. */
  readonly permanentDelegate: string | null;
  /** Smaller deposits are recorded as `below_minimum` and not credited. */
  readonly minimumDeposit: string;
  readonly depositsOn: boolean;
  /** Powers that the mint gives to its issuer. */
  readonly warnings: readonly Warning[];
}

/** An operator's change. Absent fields keep their value; all other properties are read from the chain. */
export interface AssetChange {
  /** @default '1' for a new token; for SOL the chain's minimum account balance */
  readonly minimumDeposit?: string;
  /** @default true for a new asset */
  readonly depositsOn?: boolean;
  /** Accepts deposits of a hook token that `SLUICE_TOKEN_POLICY` refuses to pay out. For this call only. */
  readonly acceptTransferHook?: true;
}

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
   * Lists an asset, or changes it. Reads the mint from the nodes again.
   *
   * @throws SluiceError `AssetRejected` (409) if it is not a mint, or has an extension that makes deposits unsafe.
   */
  async put(asset: string, change: AssetChange = {}, options?: CallOptions): Promise<Asset> {
    const path = `/v1/assets/${pathPart(asset)}`;
    return this.#transport.call({ method: 'PUT', path, body: change }, options);
  }
}
