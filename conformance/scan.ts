import { isDeepStrictEqual } from 'node:util';
import { findingOf } from '../src/domain/credits.ts';
import type { BlockHeader, ScannedTransaction } from '../src/domain/deposit.ts';
import { readTransactionsAt } from '../src/solana/scan/block.ts';
import { scanBlockBytes } from '../src/solana/scan/bytes/match-bytes.ts';
import { WatchSet } from '../src/solana/scan/bytes/watch-set.ts';
import { ALL_WALLETS } from './differences.ts';
import type { Reading } from './recorded.ts';

/** What the scan of a block's bytes found, where some of its wallets are watched. */
export interface ScanCheck {
  readonly watched: number;
  /** Transactions that were parsed; null if the bytes do not show it, so that all of them must be parsed. */
  readonly parsed: number | null;
  readonly differences: readonly string[];
}

/** One wallet in so many is watched. */
const SHARE = 40;

/**
 * Scans the bytes of a block as the node sent them for some of the wallets that moved in it, and compares what the hit transactions
 * alone mean for them with what the whole block does. `readable`: whether the bytes name every wallet in plain text, but for escapes
 * in texts about other things, without which they are scanned then.
 */
export function scanRecorded(
  bytes: Buffer,
  { header, transactions }: Reading & { readonly header: BlockHeader },
  readable: boolean,
): ScanCheck {
  const watched = someWallets(transactions);
  const known = new WatchSet(watched.size);
  for (const wallet of watched) known.add(wallet);
  const report = (parsed: number | null, differences: readonly string[]): ScanCheck => ({
    watched: watched.size,
    parsed,
    differences,
  });
  const plain = withoutEscapes(bytes);
  if (plain !== bytes && !scanBlockBytes(bytes, known).mustParse)
    return report(null, ['its bytes are relied on, though text in them may be written in more than one way']);
  const scan = scanBlockBytes(plain, known);
  if (scan.mustParse === readable)
    return report(
      null,
      readable
        ? ['its bytes are not relied on, though they name every wallet']
        : ['its bytes are relied on, though they do not name every wallet'],
    );
  if (scan.mustParse) return report(null, []);
  const ours = {
    ...ALL_WALLETS,
    kindOf: (address: string) => (watched.has(address) ? ('deposit' as const) : undefined),
  };
  const hits = readTransactionsAt(plain, scan.hitTransactions, header.slot);
  const same =
    isDeepStrictEqual(findingOf({ transactions: hits }, ours), findingOf({ transactions }, ours)) &&
    isDeepStrictEqual({ slot: header.slot, ...scan.header }, header);
  return report(
    hits.length,
    same ? [] : ['the transactions that the scan hit give another finding than the whole block'],
  );
}

/** The same bytes where none is escaped: logs and memos hold escapes, and no wallet does. Nothing moves, nor does any quote appear. */
function withoutEscapes(bytes: Buffer): Buffer {
  if (!bytes.includes('\\')) return bytes;
  return Buffer.from(bytes.toString('latin1').replace(/\\./g, '__'), 'latin1');
}

function someWallets(transactions: readonly ScannedTransaction[]): ReadonlySet<string> {
  const { inflows, outflows } = findingOf({ transactions }, ALL_WALLETS);
  const wallets = new Set([...inflows, ...outflows].map(({ wallet }) => wallet));
  return new Set([...wallets].toSorted().filter((_, index) => index % SHARE === 0));
}
