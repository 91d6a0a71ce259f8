import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Ours } from '../../src/domain/credits.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { type BlockShape, PAID_MINT, type Recipient } from './block.ts';

/** One in so many transactions that are no votes pays us, which makes 1 % of all with the shares of mainnet. */
const PAID_EVERY = 40;

/** Wallets of ours, one for each transaction of a block that pays us. */
export function ourWallets(shape: BlockShape): readonly string[] {
  return paidTransactions(shape).map(() => newAddress());
}

/** Who is paid by which transaction of a block: each wallet once. */
export function payTo(shape: BlockShape, wallets: readonly string[]): Recipient {
  const paid = new Map(
    paidTransactions(shape).flatMap((transaction, index) => {
      const wallet = wallets[index];
      return wallet === undefined
        ? []
        : [[transaction, { wallet, ata: deriveAta(wallet, PAID_MINT, TOKEN_PROGRAM) }] as const];
    }),
  );
  return (transaction) => paid.get(transaction) ?? null;
}

/** What each payment brings: SOL and tokens. */
export const GAINS_OF_A_PAYMENT = 2;

/** What the rules of deposits must know, and how many gains a block has for these wallets. */
export interface BenchRules extends Ours {
  readonly gains: number;
}

export function rulesFor(wallets: readonly string[]): BenchRules {
  const ours = new Set(wallets);
  return {
    gains: GAINS_OF_A_PAYMENT * wallets.length,
    kindOf: (address) => (ours.has(address) ? 'deposit' : undefined),
    ataOf: deriveAta,
    asset: () => undefined,
    isAttempt: () => false,
  };
}

function paidTransactions({ transactions, votes }: BlockShape): readonly number[] {
  const first = Math.round(transactions * votes);
  return Array.from({ length: transactions - first }, (_, index) => first + index).filter(
    (transaction) => transaction % PAID_EVERY === 0,
  );
}
