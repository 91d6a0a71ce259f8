import type { DecodedTransaction } from '../encoding/wire.ts';
import type { SimulatedChain } from './chain.ts';
import { describe, takeSnapshot } from './execution.ts';
import { loadAddresses } from './lookup-tables.ts';
import { allKeys, type Block, type TransactionMeta } from './records.ts';
import { validatorError } from './unexecuted.ts';
import type { StoredAccount, VmResult } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** What a simulation found. `meta` is null where the transaction was not executed. */
export interface SimulationResult {
  readonly err: TransactionErrorJson | null;
  readonly logs: readonly string[];
  readonly units: bigint;
  readonly loadedBytes: bigint;
  readonly meta: TransactionMeta | null;
  readonly accountsAfter: ReadonlyMap<string, StoredAccount>;
}

/** How to simulate: at which block, and how many heights old the blockhash may be (null: it is not looked at). */
export interface SimulationOptions {
  readonly block: Block;
  readonly blockhashAge: number | null;
}

function notExecuted(err: TransactionErrorJson): SimulationResult {
  return { err, logs: [], units: 0n, loadedBytes: 0n, meta: null, accountsAfter: new Map() };
}

/** Puts the accounts of an older block under the runtime while `run` runs. */
function withAccountsOf<T>(chain: SimulatedChain, keys: readonly string[], block: Block, run: () => T): T {
  const restore = new Map<string, StoredAccount | null>();
  for (const key of block === chain.ledger.tip ? [] : keys) {
    const now = chain.vm.account(key);
    const then = chain.account(key, block);
    if (now === then || now?.executable) continue;
    restore.set(key, now);
    chain.vm.setAccount(key, then);
  }
  try {
    return run();
  } finally {
    for (const [key, account] of restore) chain.vm.setAccount(key, account);
  }
}

function lamportsAfter(
  keys: readonly string[],
  result: VmResult,
  before: TransactionMeta['before'],
  fee: bigint,
): TransactionMeta['after'] {
  if (result.err !== null) {
    const lamports = before.lamports.map((value, index) => (index === 0 ? value - fee : value));
    return { lamports, tokens: before.tokens };
  }
  return {
    lamports: keys.map(
      (key, index) => result.accountsAfter.get(key)?.lamports ?? before.lamports[index] ?? 0n,
    ),
    tokens: [],
  };
}

/** Runs a transaction against the state after a block and forgets what it did. */
export function simulate(
  chain: SimulatedChain,
  transaction: DecodedTransaction,
  options: SimulationOptions,
): SimulationResult {
  const { block, blockhashAge } = options;
  const read = (address: string): StoredAccount | null => chain.account(address, block);
  if (blockhashAge !== null) {
    const at = { height: block.height, seed: chain.vm.nonceSeed(), account: read, maxAge: blockhashAge };
    const lifetime = chain.lifetimes.check(transaction, at);
    if (lifetime.kind === 'refused') return notExecuted(lifetime.err);
  }
  const { loaded, err } = loadAddresses(transaction.message, read);
  if (err !== null) return notExecuted(err);
  const keys = allKeys(transaction, loaded);
  const before = takeSnapshot(transaction, keys, read);
  const result = withAccountsOf(chain, keys, block, () => chain.vm.simulate(transaction));
  const ran = result.err === null || result.logs.length > 0;
  if (!ran && result.err !== null) return notExecuted(validatorError(transaction, result.err, read));
  const draft = describe(transaction, loaded, before, before.balances, result);
  const after =
    result.err === null
      ? takeSnapshot(transaction, keys, (address) => result.accountsAfter.get(address) ?? read(address))
          .balances
      : lamportsAfter(keys, result, before.balances, draft.feeLamports);
  return {
    err: result.err,
    logs: result.logs,
    units: result.units,
    loadedBytes: before.loadedBytes,
    meta: { ...draft, after },
    accountsAfter: result.accountsAfter,
  };
}
