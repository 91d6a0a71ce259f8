import { ComputeBudgetProgram, MessageV0, PublicKey, SystemProgram } from '@solana/web3.js';
import { advanceNonce, NONCE_ACCOUNT_SIZE, nonceAddress } from './account.ts';

/**
 * A transaction that creates or advances a nonce account. `blockhash`: a recent blockhash to create, the nonce to
 * advance.
 */
export interface NonceUpkeep {
  readonly kind: 'create' | 'advance';
  readonly wallet: string;
  readonly seed: string;
  /** Lamports that make a new account rent-exempt; 0 for `advance`. */
  readonly rentLamports: bigint;
  readonly blockhash: string;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
}

export type NonceUpkeepDraft = Omit<NonceUpkeep, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

/**
 * Composes the version-0 message. An advance and a payment with the same nonce exclude each other: only one of them can
 * land, which proves that the other can no longer land.
 */
export function composeUpkeep(upkeep: NonceUpkeep): Uint8Array {
  const { kind, wallet, blockhash } = upkeep;
  const limits = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: upkeep.computeUnitLimit }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: upkeep.computeUnitPriceMicroLamports }),
  ];
  const instructions =
    kind === 'create'
      ? [...limits, ...createNonce(upkeep)]
      : [advanceNonce(nonceAddress(wallet, upkeep.seed), wallet), ...limits];
  const payerKey = new PublicKey(wallet);
  return MessageV0.compile({ payerKey, instructions, recentBlockhash: blockhash }).serialize();
}

function createNonce({ wallet, seed, rentLamports }: NonceUpkeep) {
  const basePubkey = new PublicKey(wallet);
  const noncePubkey = new PublicKey(nonceAddress(wallet, seed));
  return [
    SystemProgram.createAccountWithSeed({
      fromPubkey: basePubkey,
      basePubkey,
      newAccountPubkey: noncePubkey,
      seed,
      lamports: Number(rentLamports),
      space: NONCE_ACCOUNT_SIZE,
      programId: SystemProgram.programId,
    }),
    SystemProgram.nonceInitialize({ noncePubkey, authorizedPubkey: basePubkey }),
  ];
}
