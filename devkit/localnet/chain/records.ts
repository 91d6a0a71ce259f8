import type { DecodedTransaction } from '../encoding/wire.ts';
import type { InnerInstruction, VmResult } from './vm.ts';
import type { TransactionErrorJson } from './vm-errors.ts';

export interface IndexedTokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly amount: bigint;
  readonly decimals: number;
}

export interface Balances {
  readonly lamports: readonly bigint[];
  readonly tokens: readonly IndexedTokenBalance[];
}

/** The result of a transaction. Key indexes count static keys first, then loaded writable keys, then loaded readonly keys. */
export interface TransactionMeta {
  readonly err: TransactionErrorJson | null;
  readonly feeLamports: bigint;
  readonly priorityFeeLamports: bigint;
  readonly before: Balances;
  readonly after: Balances;
  /** `logs` and `inner` are null if the transaction was included without being executed. */
  readonly logs: readonly string[] | null;
  readonly inner: readonly (readonly InnerInstruction[])[] | null;
  readonly units: bigint;
  readonly costUnits: bigint;
  readonly returnData: VmResult['returnData'];
  readonly loaded: LoadedAddresses;
}

export interface LoadedAddresses {
  readonly writable: readonly string[];
  readonly readonly: readonly string[];
}

export interface TransactionRecord {
  readonly transaction: DecodedTransaction;
  readonly meta: TransactionMeta;
  readonly slot: number;
  readonly blockTime: number;
  readonly memo: string | null;
}

/** A produced block. `time` is in Unix seconds. */
export interface Block {
  readonly slot: number;
  readonly parentSlot: number;
  readonly height: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly time: number;
  readonly transactions: readonly TransactionRecord[];
  /** The leader's income: half of the base fees and all priority fees; null if there are none. */
  readonly reward: { readonly lamports: bigint; readonly postBalance: bigint } | null;
}

export type CommitmentLevel = 'processed' | 'confirmed' | 'finalized';

export function allKeys(transaction: DecodedTransaction, loaded: LoadedAddresses): string[] {
  return [...transaction.message.keys, ...loaded.writable, ...loaded.readonly];
}
