import { allKeys, type Balances, type TransactionMeta, type TransactionRecord } from '../chain/records.ts';
import type { InnerInstruction } from '../chain/vm.ts';
import { parseInstruction } from '../parsing/instructions.ts';
import { balanceUiAmount } from './amounts.ts';
import { toBase58, toBase64 } from './bytes.ts';
import { type DecodedTransaction, isWritable, type WireInstruction } from './wire.ts';

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

/** How to encode a transaction. `showVersion` is true if the caller gave the highest version that it supports. */
export interface EncodeOptions {
  readonly encoding: TransactionEncoding;
  readonly showVersion: boolean;
  readonly showRewards: boolean;
}

function rawInstruction(instruction: WireInstruction, stackHeight: number): unknown {
  const { accounts, data, programIdIndex } = instruction;
  return { accounts, data: toBase58(data), programIdIndex, stackHeight };
}

function parsedInstruction(
  instruction: WireInstruction,
  keys: readonly string[],
  stackHeight: number,
): unknown {
  const programId = keys[instruction.programIdIndex] ?? '';
  const accounts = instruction.accounts.map((index) => keys[index] ?? '');
  const parsed = parseInstruction(programId, accounts, instruction.data);
  return parsed
    ? { parsed: parsed.parsed, program: parsed.program, programId, stackHeight }
    : { accounts, data: toBase58(instruction.data), programId, stackHeight };
}

/** Inner instructions, grouped by the outer instruction that invoked them. Empty groups are omitted. */
export function encodeInner(
  inner: readonly (readonly InnerInstruction[])[],
  keys: readonly string[],
  parsed: boolean,
): unknown[] {
  return inner.flatMap((group, index) =>
    group.length === 0
      ? []
      : [
          {
            index,
            instructions: group.map((item) =>
              parsed
                ? parsedInstruction(item, keys, item.stackHeight)
                : rawInstruction(item, item.stackHeight),
            ),
          },
        ],
  );
}

export function encodeTokens(balances: Balances): unknown[] {
  return balances.tokens.map(({ accountIndex, mint, owner, programId, amount, decimals }) => ({
    accountIndex,
    mint,
    owner,
    programId,
    uiTokenAmount: balanceUiAmount(amount, decimals),
  }));
}

/** The account keys with their roles, as for encoding `jsonParsed` and for transactionDetails `accounts`. */
export function describeKeys(transaction: DecodedTransaction, meta: TransactionMeta): unknown[] {
  const { message } = transaction;
  const own = message.keys.map((pubkey, index) => ({
    pubkey,
    signer: index < message.header.signatures,
    source: 'transaction',
    // Nodes report a program that the transaction calls as read-only.
    writable:
      isWritable(message, index) && !message.instructions.some((item) => item.programIdIndex === index),
  }));
  const loaded = (writable: boolean) => (pubkey: string) => ({
    pubkey,
    signer: false,
    source: 'lookupTable',
    writable,
  });
  return [...own, ...meta.loaded.writable.map(loaded(true)), ...meta.loaded.readonly.map(loaded(false))];
}

function encodeMessage(transaction: DecodedTransaction, meta: TransactionMeta, parsed: boolean): unknown {
  const { message } = transaction;
  const keys = allKeys(transaction, meta.loaded);
  const { config } = message;
  return {
    accountKeys: parsed ? describeKeys(transaction, meta) : message.keys,
    ...(message.version === 0 ? { addressTableLookups: message.lookups } : {}),
    ...(parsed
      ? {}
      : {
          header: {
            numReadonlySignedAccounts: message.header.readonlySigned,
            numReadonlyUnsignedAccounts: message.header.readonlyUnsigned,
            numRequiredSignatures: message.header.signatures,
          },
        }),
    instructions: message.instructions.map((item) =>
      parsed ? parsedInstruction(item, keys, 1) : rawInstruction(item, 1),
    ),
    recentBlockhash: message.blockhash,
    ...(config === null
      ? {}
      : {
          transactionConfig: {
            computeUnitLimit: config.computeUnitLimit ?? null,
            heapSize: config.heapSize ?? null,
            loadedAccountsDataSizeLimit: config.loadedAccountsDataSizeLimit ?? null,
            priorityFee: config.priorityFeeLamports ?? null,
          },
        }),
  };
}

function encodeBody(
  transaction: DecodedTransaction,
  meta: TransactionMeta,
  encoding: TransactionEncoding,
): unknown {
  if (encoding === 'base64') return [toBase64(transaction.raw), 'base64'];
  if (encoding === 'base58') return [toBase58(transaction.raw), 'base58'];
  return {
    message: encodeMessage(transaction, meta, encoding === 'jsonParsed'),
    signatures: transaction.signatures,
  };
}

function outcomeOf(meta: TransactionMeta): { err: unknown; status: unknown } {
  return { err: meta.err, status: meta.err === null ? { Ok: null } : { Err: meta.err } };
}

function balancesOf(meta: TransactionMeta): Record<string, unknown> {
  return {
    fee: meta.feeLamports,
    postBalances: meta.after.lamports,
    postTokenBalances: encodeTokens(meta.after),
    preBalances: meta.before.lamports,
    preTokenBalances: encodeTokens(meta.before),
  };
}

function encodeMeta(transaction: DecodedTransaction, meta: TransactionMeta, options: EncodeOptions): unknown {
  const parsed = options.encoding === 'jsonParsed';
  const { returnData } = meta;
  return {
    ...outcomeOf(meta),
    ...balancesOf(meta),
    computeUnitsConsumed: meta.units,
    costUnits: meta.costUnits,
    innerInstructions: meta.inner && encodeInner(meta.inner, allKeys(transaction, meta.loaded), parsed),
    ...(parsed ? {} : { loadedAddresses: meta.loaded }),
    logMessages: meta.logs,
    ...(returnData
      ? { returnData: { data: [toBase64(returnData.data), 'base64'], programId: returnData.programId } }
      : {}),
    rewards: options.showRewards ? [] : null,
  };
}

export function encodeTransaction(
  record: TransactionRecord,
  options: EncodeOptions,
): Record<string, unknown> {
  const { transaction, meta } = record;
  return {
    meta: encodeMeta(transaction, meta, options),
    transaction: encodeBody(transaction, meta, options.encoding),
    ...(options.showVersion ? { version: transaction.message.version } : {}),
  };
}

export function encodeAccountsOnly(
  record: TransactionRecord,
  options: EncodeOptions,
): Record<string, unknown> {
  const { transaction, meta } = record;
  return {
    meta: { ...outcomeOf(meta), ...balancesOf(meta), rewards: options.showRewards ? [] : null },
    transaction: { accountKeys: describeKeys(transaction, meta), signatures: transaction.signatures },
    ...(options.showVersion ? { version: transaction.message.version } : {}),
  };
}
