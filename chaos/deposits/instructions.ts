import { Keypair, PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import {
  ACCOUNT_SIZE,
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeAccount3Instruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '../../src/shims/spl-token.ts';
import type { Leg, PlannedDeposit } from './plan.ts';

/** A mint of the chain with its token program. */
export interface Mint {
  readonly address: string;
  readonly program: PublicKey;
}

/** What payments are made in, and what a token account must hold to stay. */
export interface Coins {
  readonly token: Mint;
  readonly feeToken: Mint;
  /** A mint that the exchange does not list. */
  readonly unlisted: Mint;
  readonly tokenAccountLamports: number;
}

/** The mints of a development chain by their addresses. */
export function coinsOf(
  mints: { readonly token: string; readonly feeToken: string; readonly unlisted: string },
  tokenAccountLamports: number,
): Coins {
  return {
    token: { address: mints.token, program: TOKEN_PROGRAM_ID },
    feeToken: { address: mints.feeToken, program: TOKEN_2022_PROGRAM_ID },
    unlisted: { address: mints.unlisted, program: TOKEN_PROGRAM_ID },
    tokenAccountLamports,
  };
}

const DECIMALS = 6;
const ABOVE_ANY_BALANCE = 10n ** 18n;

interface BuiltPayment {
  readonly instructions: readonly TransactionInstruction[];
  /** Besides the payer. */
  readonly signers: readonly Keypair[];
}

/** A payment in instructions of `payer`; `wallets` are those of its legs, in their order. */
export function instructionsOf(
  { legs, fake }: PlannedDeposit,
  wallets: readonly string[],
  payer: PublicKey,
  coins: Coins,
): BuiltPayment {
  const paid = legs.flatMap((leg, index) => {
    const wallet = new PublicKey(wallets[index] ?? '');
    if (leg.coin === 'SOL')
      return SystemProgram.transfer({ fromPubkey: payer, toPubkey: wallet, lamports: leg.amount });
    const mint = fake === 'unknown-mint' ? coins.unlisted : coins[leg.coin];
    return fake === 'other-account' ? [] : toAssociated(payer, wallet, mint, leg.amount);
  });
  const [leg] = legs;
  if (fake === 'other-account' && leg !== undefined)
    return toOther(payer, new PublicKey(wallets[0] ?? ''), leg, coins);
  const failing = fake === 'failed' ? toAssociated(payer, payer, coins.token, ABOVE_ANY_BALANCE) : [];
  return { instructions: [...paid, ...failing], signers: [] };
}

/** Where tokens of a wallet are looked for. */
export function associated(wallet: PublicKey, { address, program }: Mint): PublicKey {
  return getAssociatedTokenAddressSync(new PublicKey(address), wallet, true, program);
}

function toAssociated(
  payer: PublicKey,
  wallet: PublicKey,
  mint: Mint,
  amount: bigint,
): TransactionInstruction[] {
  const { program } = mint;
  const [key, from, to] = [new PublicKey(mint.address), associated(payer, mint), associated(wallet, mint)];
  return [
    createAssociatedTokenAccountIdempotentInstruction(payer, to, wallet, key, program),
    createTransferCheckedInstruction(from, key, to, payer, amount, DECIMALS, [], program),
  ];
}

/** Into a token account of the wallet that is not its associated one. */
function toOther(payer: PublicKey, wallet: PublicKey, { amount }: Leg, coins: Coins): BuiltPayment {
  const { token, tokenAccountLamports: lamports } = coins;
  const [key, other] = [new PublicKey(token.address), Keypair.generate()];
  const instructions = [
    SystemProgram.createAccount({
      fromPubkey: payer,
      newAccountPubkey: other.publicKey,
      lamports,
      space: ACCOUNT_SIZE,
      programId: token.program,
    }),
    createInitializeAccount3Instruction(other.publicKey, key, wallet, token.program),
    createTransferCheckedInstruction(
      associated(payer, token),
      key,
      other.publicKey,
      payer,
      amount,
      DECIMALS,
      [],
      token.program,
    ),
  ];
  return { instructions, signers: [other] };
}
