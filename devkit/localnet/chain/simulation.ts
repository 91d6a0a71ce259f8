import type { DecodedTransaction } from '../encoding/wire.ts';
import type { SimulatedChain } from './chain.ts';
import { takeSnapshot, transactionMeta } from './execution.ts';
import { loadAddresses } from './lookup-tables.ts';
import { allKeys, type Block, type TransactionMeta } from './records.ts';
import { validatorError } from './unexecuted.ts';
import type { StoredAccount, VmResult } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

/** The outcome of a simulation. `meta` is null if the transaction was not executed. */
export interface SimulationResult {
  readonly err: TransactionErrorJson | null;
  readonly logs: readonly string[];
  readonly units: bigint;
  readonly loadedBytes: bigint;
  readonly meta: TransactionMeta | null;
  readonly accountsAfter: ReadonlyMap<string, StoredAccount>;
}

/** The block to simulate on, and the maximum age of the blockhash in blocks (null: the blockhash is not checked). */
export interface SimulationOptions {
  readonly block: Block;
  readonly blockhashAge: number | null;
}

function notExecuted(err: TransactionErrorJson): SimulationResult {
  return { err, logs: [], units: 0n, loadedBytes: 0n, meta: null, accountsAfter: new Map() };
}

/** Runs `run` while the runtime holds the accounts as of `block`, then restores them. */
function withAccountsOf<T>(chain: SimulatedChain, keys: readonly string[], block: Block, run: () => T): T {
  const tipAccounts = new Map<string, StoredAccount | null>();
  for (const key of block === chain.ledger.tip ? [] : keys) {
    const atTip = chain.vm.account(key);
    const atBlock = chain.account(key, block);
    if (atTip === atBlock || atTip?.executable) continue;
    tipAccounts.set(key, atTip);
    chain.vm.setAccount(key, atBlock);
  }
  try {
    return run();
  } finally {
    for (const [key, account] of tipAccounts) chain.vm.setAccount(key, account);
  }
}

function balancesAfter(
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
  const wasExecuted = result.err === null || result.logs.length > 0;
  if (!wasExecuted && result.err !== null) return notExecuted(validatorError(transaction, result.err, read));
  const draft = transactionMeta(transaction, loaded, before, before.balances, result);
  const after =
    result.err === null
      ? takeSnapshot(transaction, keys, (address) => result.accountsAfter.get(address) ?? read(address))
          .balances
      : balancesAfter(keys, result, before.balances, draft.feeLamports);
  return {
    err: result.err,
    logs: result.logs,
    units: result.units,
    loadedBytes: before.loadedBytes,
    meta: { ...draft, after },
    accountsAfter: result.accountsAfter,
  };
}
