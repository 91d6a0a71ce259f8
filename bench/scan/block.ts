import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import { Chance } from '../chance.ts';

/** Shape of a synthetic block. */
export interface BlockShape {
  readonly transactions: number;
  /** Share of votes: four accounts, no tokens. The others have 18 accounts and five token balances before and after. */
  readonly votes: number;
}

export const MAINNET_SHAPE: BlockShape = { transactions: 1000, votes: 0.6 };

const TRANSFER_ACCOUNTS = 18;
const TOKEN_BALANCES = 5;
const VOTE_ACCOUNTS = 4;
const PAID_ACCOUNT = 1;
const FIRST_HOLDER = 3;
const MOST = 2 ** 31;
const MINTS = 50;
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';

/** The wallet of ours that a transaction pays, and the account of it that gets tokens; null for one among strangers. */
export type Recipient = (transaction: number) => { readonly wallet: string; readonly ata: string } | null;

/** Of {@link Recipient}: every payment is of this mint, and of SOL. */
export const PAID_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkwyTDt1v';

const NO_RECIPIENT: Recipient = () => null;

/** The `transactions` of a getBlock answer (transactionDetails `accounts`), keys in a node's own order. */
export function blockTransactions(
  seed: number,
  shape: BlockShape,
  recipient: Recipient = NO_RECIPIENT,
): string {
  const chance = new Chance(seed);
  const mints = Array.from({ length: MINTS }, () => chance.base58(32));
  const votes = Math.round(shape.transactions * shape.votes);
  const transactions = Array.from({ length: shape.transactions }, (_, index) =>
    index < votes ? vote(chance) : transfer(chance, mints, recipient(index)),
  );
  return JSON.stringify(transactions);
}

/** The fields of a block around its transactions: each names the block of the slot before as its parent. */
export function headerFields(slot: number) {
  return {
    blockHeight: slot,
    blockTime: 1_750_000_000 + slot,
    blockhash: hashOf(slot),
    parentSlot: slot - 1,
    previousBlockhash: hashOf(slot - 1),
  };
}

/** The text of a node's answer before and after the transactions of the block; `id` is that of the question. */
export function answerAround(
  slot: number,
  id: unknown,
  field: 'transactions' | 'signatures' = 'transactions',
): { readonly head: string; readonly tail: string } {
  const header = JSON.stringify(headerFields(slot)).slice(0, -1);
  return {
    head: `{"jsonrpc":"2.0","result":${header},"${field}":`,
    tail: `},"id":${JSON.stringify(id)}}\n`,
  };
}

/** A whole answer to getBlock. */
export function blockAnswer(seed: number, shape: BlockShape, recipient: Recipient = NO_RECIPIENT): Buffer {
  const { head, tail } = answerAround(seed, 1);
  return Buffer.from(head + blockTransactions(seed, shape, recipient) + tail);
}

function hashOf(slot: number): string {
  return base58.encode(createHash('sha256').update(`block ${slot}`).digest());
}

function vote(chance: Chance): object {
  const keys = Array.from({ length: VOTE_ACCOUNTS - 1 }, () => chance.base58(32));
  return entry(chance, [...keys, VOTE_PROGRAM], [], []);
}

function transfer(chance: Chance, mints: readonly string[], paid: ReturnType<Recipient>): object {
  const keys = Array.from({ length: TRANSFER_ACCOUNTS - 1 }, () => chance.base58(32));
  const holders = Array.from({ length: TOKEN_BALANCES }, (_, index) => ({
    accountIndex: FIRST_HOLDER + index,
    mint: mints[chance.below(mints.length)],
    owner: chance.base58(32),
    programId: TOKEN_PROGRAM,
  }));
  const holding = () => holders.map((holder) => ({ ...holder, uiTokenAmount: amount(chance.below(MOST)) }));
  const [before, after] = [holding(), holding()];
  const made = entry(chance, [...keys, TOKEN_PROGRAM], before, after);
  return paid === null ? made : payment(made, paid);
}

/** The second account of a transfer gets SOL, the first holder tokens. */
function payment(made: Entry, { wallet, ata }: NonNullable<ReturnType<Recipient>>): Entry {
  const { meta, transaction } = made;
  const { accountKeys } = transaction;
  const pay = (balances: readonly number[], lamports: number) => balances.with(PAID_ACCOUNT, lamports);
  const give = (holders: readonly object[], units: number) =>
    holders.with(0, {
      ...holders[0],
      mint: PAID_MINT,
      owner: wallet,
      uiTokenAmount: amount(units),
    });
  const named = accountKeys
    .with(PAID_ACCOUNT, { ...accountKeys[PAID_ACCOUNT], pubkey: wallet })
    .with(FIRST_HOLDER, { ...accountKeys[FIRST_HOLDER], pubkey: ata });
  return {
    ...made,
    meta: {
      ...meta,
      preBalances: pay(meta.preBalances, MOST),
      postBalances: pay(meta.postBalances, 2 * MOST),
      preTokenBalances: give(meta.preTokenBalances, MOST),
      postTokenBalances: give(meta.postTokenBalances, 2 * MOST),
    },
    transaction: { ...transaction, accountKeys: named },
  };
}

type Entry = ReturnType<typeof entry>;

function entry(chance: Chance, keys: readonly string[], before: readonly object[], after: readonly object[]) {
  const balances = (): readonly number[] => keys.map(() => chance.below(MOST) * 100);
  return {
    meta: {
      err: null,
      fee: 5000,
      postBalances: balances(),
      postTokenBalances: after,
      preBalances: balances(),
      preTokenBalances: before,
      status: { Ok: null },
    },
    transaction: {
      accountKeys: keys.map((pubkey, index): object => ({
        pubkey,
        signer: index === 0,
        source: index > 12 ? 'lookupTable' : 'transaction',
        writable: index < 6,
      })),
      signatures: [chance.base58(64)],
    },
    version: keys.length > 12 ? 0 : 'legacy',
  };
}

function amount(units: number): object {
  const ui = units / 1e6;
  return { amount: String(units), decimals: 6, uiAmount: ui, uiAmountString: String(ui) };
}
