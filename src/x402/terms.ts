export interface Network {
  /** CAIP-2: `solana:` and the first 32 characters of the genesis hash. */
  readonly caip2: string;
  /** Name in x402 version 1. */
  readonly v1: 'solana' | 'solana-devnet';
  /** Name in the quote of the exchange interface. */
  readonly cluster: 'devnet' | 'mainnet';
  /** Mint of USDC, the default asset of official clients. */
  readonly usdc: string;
}

const DEVNET: Network = {
  caip2: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  v1: 'solana-devnet',
  cluster: 'devnet',
  usdc: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
};
const MAINNET: Network = {
  caip2: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  v1: 'solana',
  cluster: 'mainnet',
  usdc: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
};

/** By configured cluster. A local chain uses devnet's names: official clients accept no other. */
export const NETWORKS: Readonly<Record<'localnet' | 'devnet' | 'mainnet-beta', Network>> = {
  localnet: DEVNET,
  devnet: DEVNET,
  'mainnet-beta': MAINNET,
};

export interface Resource {
  /** Absolute URL. */
  readonly url: string;
  readonly description: string;
  readonly mimeType: string;
}

/** Terms of scheme `exact`: one transfer of exactly this amount. Equal in all processes and after restarts. */
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
  /** Our key that pays the fees in versions 1 and 2. */
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
  /** The memo that the transaction must contain; null: any. */
  readonly memo: string | null;
}

/** A payment as one of the dialects presents it: wire bytes, or the signature of a transaction that its buyer sent. */
export type Proof =
  /** `accepted`: the requirements that the buyer chose, as sent. */
  | {
      readonly dialect: 'v2';
      readonly wire: Uint8Array;
      readonly accepted: Readonly<Record<string, unknown>>;
      /** From the extension payment-identifier. */
      readonly paymentIdentifier: string | null;
      /** As sent; empty without extensions. */
      readonly extensions: Readonly<Record<string, unknown>>;
    }
  | { readonly dialect: 'v1'; readonly wire: Uint8Array; readonly network: string }
  /** The interface's example: signed by all signers. */
  | { readonly dialect: 'example'; readonly wire: Uint8Array; readonly network: string }
  /** The interface's alternative: sent by the buyer. `quoteToken` is from the 402. */
  | {
      readonly dialect: 'submitted';
      readonly signature: string;
      readonly quoteToken: string;
      readonly network: string;
    };

export interface ExactPayment {
  /** Hex sha256 of the message: the identity of the payment. */
  readonly messageHash: string;
  /** The authority of the transfer. */
  readonly payer: string;
  readonly feePayer: string;
  /** Signature of the fee payer (base58), which identifies the transaction; null until we sign. */
  readonly signature: string | null;
  readonly blockhash: string;
  readonly asset: string;
  readonly amount: bigint;
  readonly destination: string;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** Total fee, base fee included. */
  readonly feeLamports: bigint;
}

/** A refusal: `reason` is a code of the x402 specification (spec 1.6), `message` a sentence for people. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
  /** Null if it could not be read. */
  readonly payer: string | null;
}

export type Checked =
  | { readonly ok: true; readonly payment: ExactPayment }
  | ({ readonly ok: false } & Refused);

/** Limits of our cost. The facilitator publishes them. */
export interface Limits {
  readonly maxComputeUnits: number;
  readonly maxFeeLamports: bigint;
  /** Value of one whole token in lamports, by mint address. */
  readonly assetLamports: ReadonlyMap<string, bigint>;
  /** Maximum priority fee in percent of the payment's value, for assets with a configured value. */
  readonly maxFeePercent: bigint;
  /** Number of signers, the fee payer included. */
  readonly maxSigners: number;
}
