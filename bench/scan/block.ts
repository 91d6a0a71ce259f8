import { base58 } from '@scure/base';

/** Shape of a synthetic block. Source: solana §5, block composition. */
export interface BlockShape {
  readonly transactions: number;
  /** Share of votes: four accounts, no tokens. The others have 18 accounts and five token balances before and after. */
  readonly votes: number;
}

export const MAINNET_SHAPE: BlockShape = { transactions: 1000, votes: 0.6 };

const TRANSFER_ACCOUNTS = 18;
const TOKEN_BALANCES = 5;
const VOTE_ACCOUNTS = 4;
const MINTS = 50;
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';

/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 up to, and without, `below`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * below) | 0;
  }

  /** Base58 text of so many bytes: 32 are an address, 64 a signature. */
  base58(bytes: number): string {
    return base58.encode(Uint8Array.from({ length: bytes }, () => this.below(256)));
  }
}

/** One transaction's wallets, for planting hits in them. */
export type Recipient = (transaction: number) => string | null;

/**
 * The answer of a node to getBlock (transactionDetails `accounts`), keys in a node's own order. `recipient` names a wallet that some
 * transactions pay; null leaves them to strangers.
 */
export function blockAnswer(seed: number, shape: BlockShape, recipient: Recipient = () => null): Buffer {
  const chance = new Chance(seed);
  const mints = Array.from({ length: MINTS }, () => chance.base58(32));
  const votes = Math.round(shape.transactions * shape.votes);
  const transactions = Array.from({ length: shape.transactions }, (_, index) =>
    index < votes ? vote(chance) : transfer(chance, mints, recipient(index)),
  );
  const result = {
    blockHeight: 300_000_000 + seed,
    blockTime: 1_750_000_000 + seed,
    blockhash: chance.base58(32),
    parentSlot: 320_000_000 + seed,
    previousBlockhash: chance.base58(32),
    transactions,
  };
  return Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', result, id: 1 })}\n`);
}

function vote(chance: Chance): object {
  const keys = Array.from({ length: VOTE_ACCOUNTS - 1 }, () => chance.base58(32));
  return entry(chance, [...keys, VOTE_PROGRAM], [], []);
}

function transfer(chance: Chance, mints: readonly string[], recipient: string | null): object {
  const keys = Array.from({ length: TRANSFER_ACCOUNTS - 1 }, () => chance.base58(32));
  if (recipient !== null) keys[1] = recipient;
  const holders = Array.from({ length: TOKEN_BALANCES }, (_, index) => ({
    accountIndex: 3 + index,
    mint: mints[chance.below(mints.length)],
    owner: index === 0 && recipient !== null ? recipient : chance.base58(32),
    programId: TOKEN_PROGRAM,
  }));
  const holding = () => holders.map((holder) => ({ ...holder, uiTokenAmount: amount(chance) }));
  return entry(chance, [...keys, TOKEN_PROGRAM], holding(), holding());
}

function entry(chance: Chance, keys: readonly string[], before: object[], after: object[]): object {
  const balances = () => keys.map(() => chance.below(2 ** 31) * 100);
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
      accountKeys: keys.map((pubkey, index) => ({
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

function amount(chance: Chance): object {
  const units = chance.below(2 ** 31);
  const ui = units / 1e6;
  return { amount: String(units), decimals: 6, uiAmount: ui, uiAmountString: String(ui) };
}
