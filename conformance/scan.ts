import { isDeepStrictEqual } from 'node:util';
import { findingOf } from '../src/domain/credits.ts';
import type { BlockHeader, ScannedTransaction, TokenHolding } from '../src/domain/deposit.ts';
import { readTransactionsAt } from '../src/solana/scan/block.ts';
import { scanBlockBytes } from '../src/solana/scan/match-bytes.ts';
import { WatchSet } from '../src/solana/scan/watch-set.ts';
import { EVERYBODY } from './differences.ts';
import type { Reading } from './recorded.ts';

/** What the scan of a block's bytes found, where some of its wallets are watched. */
export interface ScanReport {
  readonly watched: number;
  /** Transactions that were parsed; null where the bytes could not tell, and all of them must be. */
  readonly parsed: number | null;
  readonly differences: readonly string[];
}

/** One wallet in so many is watched. */
const SHARE = 40;

/**
 * Scans the bytes of a block, written as nodes write it for us (transactionDetails `accounts`), for some of the wallets that moved in it,
 * and compares what the hit transactions alone mean for them with what the whole block does.
 */
export function scanRecorded({
  header,
  transactions,
}: Reading & { readonly header: BlockHeader }): ScanReport {
  const watched = someWallets(transactions);
  const known = new WatchSet(watched.size);
  for (const wallet of watched) known.add(wallet);
  const bytes = answerOf(header, transactions);
  const scan = scanBlockBytes(bytes, known);
  if (scan.mustParse) return { watched: watched.size, parsed: null, differences: [] };
  const ours = {
    ...EVERYBODY,
    kindOf: (address: string) => (watched.has(address) ? ('deposit' as const) : undefined),
  };
  const hits = readTransactionsAt(bytes, scan.hitTransactions, header.slot);
  const same =
    isDeepStrictEqual(findingOf({ transactions: hits }, ours), findingOf({ transactions }, ours)) &&
    isDeepStrictEqual({ slot: header.slot, ...scan.header }, header);
  const differences = same
    ? []
    : ['the transactions that the scan hit do not tell what the whole block does'];
  return { watched: watched.size, parsed: hits.length, differences };
}

function someWallets(transactions: readonly ScannedTransaction[]): ReadonlySet<string> {
  const { inflows, outflows } = findingOf({ transactions }, EVERYBODY);
  const wallets = new Set([...inflows, ...outflows].map(({ wallet }) => wallet));
  return new Set([...wallets].toSorted().filter((_, index) => index % SHARE === 0));
}

function answerOf(header: BlockHeader, transactions: readonly ScannedTransaction[]): Buffer {
  const result = {
    blockHeight: Number(header.height),
    blockTime: header.time === null ? null : Number(header.time),
    blockhash: header.blockhash,
    parentSlot: Number(header.parentSlot),
    previousBlockhash: header.previousBlockhash,
    transactions: transactions.map(entryOf),
  };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', result, id: 1 }));
}

function entryOf({ signature, version, error, feeLamports, accounts, tokens }: ScannedTransaction) {
  const balances = (side: 'before' | 'after') =>
    tokens.flatMap(({ account, mint, [side]: held }) =>
      held === null
        ? []
        : [
            balanceOf(
              accounts.findIndex(({ address }) => address === account),
              mint,
              held,
            ),
          ],
    );
  // Which error it was makes no difference to what is found.
  const err = error === null ? null : 'AccountInUse';
  return {
    meta: {
      err,
      fee: String(feeLamports),
      postBalances: accounts.map(({ after }) => String(after)),
      postTokenBalances: balances('after'),
      preBalances: accounts.map(({ before }) => String(before)),
      preTokenBalances: balances('before'),
      status: err === null ? { Ok: null } : { Err: err },
    },
    transaction: {
      accountKeys: accounts.map(({ address, signer }) => ({ pubkey: address, signer, writable: true })),
      signatures: [signature],
    },
    version,
  };
}

function balanceOf(accountIndex: number, mint: string, { owner, program, amount }: TokenHolding) {
  return {
    accountIndex,
    mint,
    ...(owner === null ? {} : { owner }),
    ...(program === null ? {} : { programId: program }),
    uiTokenAmount: { amount: String(amount) },
  };
}
