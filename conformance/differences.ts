import { findingOfTransaction, type Ours } from '../src/domain/credits.ts';
import type { BlockFinding, ScannedTransaction, TokenChange } from '../src/domain/deposit.ts';
import { UNNAMED_OWNER } from './early.ts';
import type { Facts, RecordedFacts } from './facts.ts';
import type { Reading } from './recorded.ts';

/** Every wallet is watched, so every change of an account with a named owner is found. */
export const ALL_WALLETS: Ours = {
  kindOf: (address) => (address === UNNAMED_OWNER ? undefined : 'deposit'),
  ataOf: (wallet, mint) => `${wallet} ${mint}`,
  asset: () => undefined,
  isAttempt: () => false,
};

/** What differs between the facts of a file and our reading of it, one line each. */
export function differencesFrom(facts: Facts, reading: Reading): readonly string[] {
  const { header, transactions } = reading;
  const sides = transactions.flatMap(({ tokens }) => tokens);
  const pairs: readonly (readonly [what: string, known: unknown, read: unknown])[] = [
    ['transactions', facts.transactions, transactions.length],
    ['failed', facts.failed, transactions.filter(({ error }) => error !== null).length],
    ['of version 0', facts.v0, transactions.filter(({ version }) => version === 0).length],
    ['token balances before', facts.pre_token_entries, countOf(sides, 'before')],
    ['token balances after', facts.post_token_entries, countOf(sides, 'after')],
    ['fees', facts.fees, sumOf(transactions.map(({ feeLamports }) => feeLamports))],
    ['sum of all lamports', facts.native_delta_sum, sumOf(transactions.map(nativeSum))],
    ['parent slot', facts.parentSlot ?? null, header?.parentSlot ?? null],
    ['height', facts.blockHeight ?? null, header?.height ?? null],
    ['time', facts.blockTime ?? null, header?.time ?? null],
  ];
  const counts = pairs
    .filter(([, known, read]) => known !== read)
    .map(([what, known, read]) => `${what}: ${String(known)} by the facts, ${String(read)} read`);
  return [...counts, ...(facts.details ?? []).flatMap((one, index) => compare(one, transactions[index]))];
}

/** The movements of one transaction against its known changes, account by account. */
function compare(facts: RecordedFacts, read: ScannedTransaction | undefined): readonly string[] {
  if (read === undefined) return [`${facts.signature}: not read`];
  const { signature, feeLamports, accounts } = read;
  const pairs = [
    ['signature', facts.signature, signature],
    ['fee', facts.fee, feeLamports],
    ['fee payer', facts.fee_payer, accounts[0]?.address],
    ['success', facts.err === null, read.error === null],
    [
      'movements',
      movementsByFacts(facts).join('\n'),
      movementsByScan(findingOfTransaction(read, ALL_WALLETS)).join('\n'),
    ],
  ];
  return pairs
    .filter(([, expected, actual]) => expected !== actual)
    .map(
      ([what, expected, actual]) =>
        `${facts.signature}: ${String(what)}: ${String(expected)} by the facts, ${String(actual)} read`,
    );
}

function movementsByFacts({ err, native_changes, token_changes }: RecordedFacts): readonly string[] {
  const native = Object.entries(native_changes).map(([address, delta]) =>
    line(address, address, 'SOL', delta),
  );
  const tokens = token_changes.flatMap(({ account, mint, owner_before, owner_after, before, after }) => {
    const [had, has] = [before ?? 0n, after ?? 0n];
    if (before === null || after === null || owner_before === owner_after)
      return [line(account, owner_after ?? owner_before, mint, has - had)];
    return [line(account, owner_before, mint, -had), line(account, owner_after, mint, has)];
  });
  return [...native, ...(err === null ? tokens : [])].filter((text) => !text.endsWith(' 0')).toSorted();
}

function movementsByScan({ inflows, outflows }: BlockFinding): readonly string[] {
  return [
    ...inflows.map(({ account, wallet, asset, amount }) => line(account, wallet, asset, amount)),
    ...outflows.map(({ account, wallet, asset, amount }) => line(account, wallet, asset, -amount)),
  ].toSorted();
}

function line(account: string, wallet: string | null, asset: string, delta: bigint): string {
  return `${account} ${wallet ?? '?'} ${asset} ${delta}`;
}

function countOf(changes: readonly TokenChange[], side: 'before' | 'after'): number {
  return changes.filter((change) => change[side] !== null).length;
}

function nativeSum({ accounts }: ScannedTransaction): bigint {
  return sumOf(accounts.map(({ before, after }) => after - before));
}

function sumOf(values: readonly bigint[]): bigint {
  return values.reduce((sum, value) => sum + value, 0n);
}
