import type { Network } from './networks.ts';

/** What is bought, as version 1 and 2 describe it. */
export interface Resource {
  /** Absolute. */
  readonly url: string;
  readonly description: string;
  readonly mimeType: string;
}

/** One way to pay for a resource: scheme `exact`, one transfer of exactly this amount. Equal in all processes and after restarts. */
export interface Terms {
  readonly network: Network;
  /** Address of the mint, and the program that owns it. */
  readonly asset: string;
  readonly tokenProgram: string;
  readonly decimals: number;
  /** Base units. */
  readonly amount: bigint;
  /** The wallet that is paid, and its associated token account. */
  readonly payTo: string;
  readonly tokenAccount: string;
  /** The key of ours that pays the fees of versions 1 and 2. */
  readonly feePayer: string;
  readonly maxTimeoutSeconds: number;
  /** The memo that the transaction must carry; null: any. */
  readonly memo: string | null;
}

/** The wire bytes of a transaction, or the signature of one that its buyer has sent, as one of the dialects shows it. */
export type Proof =
  /** `accepted`: the requirements that the buyer has chosen, as they were sent. */
  | {
      readonly dialect: 'v2';
      readonly wire: Uint8Array;
      readonly accepted: Readonly<Record<string, unknown>>;
      /** Of the extension payment-identifier. */
      readonly paymentIdentifier: string | null;
      /** As they were sent; empty where the buyer sent none. */
      readonly extensions: Readonly<Record<string, unknown>>;
    }
  | { readonly dialect: 'v1'; readonly wire: Uint8Array; readonly network: string }
  /** The interface's example: signed by all of its signers. */
  | { readonly dialect: 'example'; readonly wire: Uint8Array; readonly network: string }
  /** The interface's alternative: sent by the buyer. `quoteToken` is the one that he was given with the 402. */
  | {
      readonly dialect: 'submitted';
      readonly signature: string;
      readonly quoteToken: string;
      readonly network: string;
    };

/** A transaction that pays what it was asked for, as far as its bytes show. */
export interface ExactPayment {
  readonly message: Uint8Array;
  /** Hex sha256 of the message: the identity of the payment. */
  readonly messageHash: string;
  /** The owner of the money: the authority of the transfer. */
  readonly payer: string;
  readonly feePayer: string;
  readonly signers: readonly string[];
  /** base58, of the fee payer: the name of the transaction; null until we sign. */
  readonly signature: string | null;
  readonly blockhash: string;
  readonly asset: string;
  readonly amount: bigint;
  /** The token account that the transfer credits. */
  readonly destination: string;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** The whole fee, base fee included. */
  readonly feeLamports: bigint;
}

/** Why a payment is refused: `reason` is a code of the x402 specification (spec 1.6), `message` a sentence for people. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
  /** Null where it could not be read. */
  readonly payer: string | null;
}

/** What the rules find. */
export type Checked =
  | { readonly ok: true; readonly payment: ExactPayment }
  | ({ readonly ok: false } & Refused);

/** What the rules allow at our cost. Published by the facilitator. */
export interface Limits {
  readonly maxComputeUnits: number;
  readonly maxFeeLamports: bigint;
  /** Lamports that one whole token of an asset is worth, by the address of its mint. */
  readonly assetLamports: ReadonlyMap<string, bigint>;
  /** The most that the priority fee may be, in percent of the value of the payment, where its asset has a worth. */
  readonly maxFeePercent: bigint;
  /** All signers, the fee payer included. */
  readonly maxSigners: number;
}
