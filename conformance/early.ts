import { parse, stringify } from 'lossless-json';
import { isJsonObject } from '../src/solana/rpc/node-text.ts';

/** Replaces the owners that ledgers from before 2022 do not name; no wallet has this address. */
export const UNNAMED_OWNER = 'Unto1d'.padEnd(44, '1');

/** The answer of an early ledger with what the scan demands of one: lists of token balances, be they empty, and an owner of each. */
export function filledIn(answer: Buffer): Buffer {
  const filled = parse(answer.toString('utf8'), (key, value) =>
    key === 'meta' && isJsonObject(value) ? withTokens(value) : value,
  );
  return Buffer.from(stringify(filled) ?? '');
}

function withTokens(meta: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { preTokenBalances, postTokenBalances } = meta;
  return { ...meta, preTokenBalances: owned(preTokenBalances), postTokenBalances: owned(postTokenBalances) };
}

function owned(balances: unknown): readonly unknown[] {
  const listed: readonly unknown[] = Array.isArray(balances) ? balances : [];
  return listed.map((balance) =>
    isJsonObject(balance) ? { ...balance, owner: balance['owner'] ?? UNNAMED_OWNER } : balance,
  );
}
