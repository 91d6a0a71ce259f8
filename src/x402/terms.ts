import { usdcMint } from '../domain/cluster.ts';

export interface Network {
  /** CAIP-2: `solana:` and the first 32 characters of the genesis hash. */
  readonly caip2: string;
  /** Name in x402 version 1. */
  readonly v1: 'solana' | 'solana-devnet';
  /** Name in the quote of the interface (docs/interface.md). */
  readonly cluster: 'devnet' | 'mainnet';
  /** Mint of USDC, the default asset of official clients. */
  readonly usdc: string;
}

const DEVNET: Network = {
  caip2: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  v1: 'solana-devnet',
  cluster: 'devnet',
  usdc: usdcMint('devnet'),
};
const MAINNET: Network = {
  caip2: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  v1: 'solana',
  cluster: 'mainnet',
  usdc: usdcMint('mainnet-beta'),
};

/** Networks by configured cluster. A local chain has devnet's names, because official clients accept no other names. */
export const NETWORKS: Readonly<Record<'localnet' | 'devnet' | 'mainnet-beta', Network>> = {
  localnet: DEVNET,
  devnet: DEVNET,
  'mainnet-beta': MAINNET,
};

export const USDC_DECIMALS = 6;

/** True for the mint of USDC on any network. */
export function isUsdc(mint: string): boolean {
  return Object.values(NETWORKS).some(({ usdc }) => usdc === mint);
}

/** Names of a network that payments of version 1 may have: some clients use the name of version 2. */
export function namesInVersion1({ v1, caip2 }: Network): readonly string[] {
  return [v1, caip2];
}

export interface Resource {
  /** Absolute URL. */
  readonly url: string;
  readonly description: string;
  readonly mimeType: string;
}

/** Terms of scheme `exact`: one transfer of exactly this amount. */
export interface Terms {
  readonly network: Network;
  /** Mint address, and the program that owns it. */
  readonly asset: string;
  readonly tokenProgram: string;
  readonly decimals: number;
  /** Base units. */
  readonly amount: bigint;
  /** The seller's wallet, and its associated token account. */
  readonly payTo: string;
  readonly tokenAccount: string;
  /** Address of our key that pays the fees in versions 1 and 2. */
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
  /** The memo that the transaction must contain. Null: any memo, or none. */
  readonly memo: string | null;
}

/** A presented payment: wire bytes, or the signature of a transaction that its buyer sent. */
export type Proof =
  /** `accepted`: the requirements that the buyer chose, as sent. */
  | {
      readonly dialect: 'v2';
      readonly wire: Uint8Array;
      readonly accepted: Readonly<Record<string, unknown>>;
      /** The id in the extension `payment-identifier`; null if there is none. */
      readonly paymentIdentifier: string | null;
      /** The extensions as sent; empty if there are none. */
      readonly extensions: Readonly<Record<string, unknown>>;
    }
  | { readonly dialect: 'v1'; readonly wire: Uint8Array; readonly network: string }
  /** The dialect of the interface's example: a transaction that all signers have signed. */
  | { readonly dialect: 'example'; readonly wire: Uint8Array; readonly network: string }
  /** The interface's alternative: a transaction that the buyer sent. `quoteToken` is from the 402 response. */
  | {
      readonly dialect: 'submitted';
      readonly signature: string;
      readonly quoteToken: string;
      readonly network: string;
    };

export interface ExactPayment {
  /** SHA-256 of the message in hex. It identifies the payment. */
  readonly messageHash: string;
  /** The authority of the transfer. */
  readonly payer: string;
  /** Token account that pays; null if the transaction has no token transfer. */
  readonly sourceAccount: string | null;
  readonly feePayer: string;
  /** Signature of the fee payer (base58), which identifies the transaction; null until we sign. */
  readonly signature: string | null;
  readonly blockhash: string;
  readonly asset: string;
  readonly amount: bigint;
  readonly destination: string;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** Total fee: base fee and priority fee. */
  readonly feeLamports: bigint;
}

/** A refusal. `reason` is a code of the x402 specification, `message` a sentence for people. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
  /** Wallet of the buyer; null if the transaction could not be read. */
  readonly payer: string | null;
}

export type Checked =
  | { readonly ok: true; readonly payment: ExactPayment }
  | ({ readonly ok: false } & Refused);

/** Limits on what one payment may cost us. The facilitator publishes them, except the number of signers. */
export interface Limits {
  readonly maxComputeUnits: number;
  readonly maxFeeLamports: bigint;
  /** Maximum price of a compute unit, in micro-lamports: see {@link maxPrice}. */
  readonly maxPriceMicroLamports: bigint;
  /** Value of one whole token in lamports, by mint address. */
  readonly assetLamports: ReadonlyMap<string, bigint>;
  /** Maximum priority fee in percent of the payment's value, for assets with a configured value. */
  readonly maxFeePercent: bigint;
  /** Maximum number of signers, including the fee payer. */
  readonly maxSigners: number;
}
