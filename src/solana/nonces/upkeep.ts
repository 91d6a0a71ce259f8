import { ComputeBudgetProgram, MessageV0, PublicKey, SystemProgram } from '@solana/web3.js';
import { advanceNonce, NONCE_ACCOUNT_SIZE, nonceAddress } from './account.ts';

/** What a nonce account of the wallet may need. `blockhash` is a recent one for `create`, the account's value for `advance`. */
export interface NonceUpkeep {
  readonly kind: 'create' | 'advance';
  readonly wallet: string;
  readonly seed: string;
  /** What a new account is given to be rent-exempt; 0 for `advance`. */
  readonly rentLamports: bigint;
  readonly blockhash: string;
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
}

/** Upkeep whose limits are still to be found. */
export type NonceUpkeepDraft = Omit<NonceUpkeep, 'computeUnitLimit' | 'computeUnitPriceMicroLamports'>;

/**
 * Composes the version-0 message. A bare advance carries the value that it uses up, so of it and a payment that carries the same
 * value only one can ever run, and the one that ran proves the other dead.
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
