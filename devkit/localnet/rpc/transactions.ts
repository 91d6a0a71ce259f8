import type { TransactionRecord } from '../chain/records.ts';
import { encodeTransaction } from '../encoding/transaction.ts';
import { encodeOptions, encodingConfig } from './blocks.ts';
import { type MethodTable, type NodeView, withContext } from './call.ts';
import { invalidParams } from './errors.ts';
import { falseStatus } from './false-answers.ts';
import {
  blockCommitment,
  checkSignature,
  flag,
  optionalNumber,
  optionalString,
  type Params,
} from './params.ts';

const MAX_SIGNATURES = 256;
const MAX_HISTORY = 1000;
/** Number of rooted blocks whose statuses stay in a node's status cache, so that it need not search its history. */
const STATUS_CACHE_BLOCKS = 300;

function getTransaction(params: Params, view: NodeView): unknown {
  const signature = checkSignature(params.string(0));
  const config = encodingConfig(params, 1);
  const newest = view.at(blockCommitment(config));
  const { options, check } = encodeOptions(config);
  const record = view.chain.ledger.record(signature);
  if (!record || record.slot > newest.slot || !view.hasBlock(record.slot)) return null;
  check(record);
  return { blockTime: record.blockTime, slot: record.slot, ...encodeTransaction(record, options) };
}

function statusOf(record: TransactionRecord | undefined, view: NodeView, searchHistory: boolean): unknown {
  const lie = view.falseStatusOf(record);
  if (lie !== null) return falseStatus(lie, record?.slot ?? view.at('finalized').slot);
  const confirmationStatus = record ? view.commitmentOf(record.slot) : null;
  if (!record || confirmationStatus === null || !view.hasBlock(record.slot)) return null;
  const { ledger, finalityLag } = view.chain;
  const depth = ledger.depthOf(record.slot) - view.lagBlocks;
  if (depth > STATUS_CACHE_BLOCKS + finalityLag && !searchHistory) return null;
  const { err } = record.meta;
  return {
    confirmationStatus,
    confirmations: confirmationStatus === 'finalized' ? null : depth,
    err,
    slot: record.slot,
    status: err === null ? { Ok: null } : { Err: err },
  };
}

function signatureStatuses(params: Params, view: NodeView): unknown {
  const signatures = params.strings(0);
  if (signatures.length > MAX_SIGNATURES)
    throw invalidParams(`Too many inputs provided; max ${MAX_SIGNATURES}`);
  signatures.forEach(checkSignature);
  const search = flag(params.config(1), 'searchTransactionHistory');
  return withContext(
    view.at('processed'),
    signatures.map((signature) => statusOf(view.chain.ledger.record(signature), view, search)),
  );
}

function signaturesForAddress(params: Params, view: NodeView): unknown {
  const address = params.address(0);
  const config = params.config(1);
  const limit = optionalNumber(config, 'limit') ?? MAX_HISTORY;
  if (limit === 0 || limit > MAX_HISTORY) throw invalidParams(`Invalid limit; max ${MAX_HISTORY}`);
  const before = optionalString(config, 'before');
  const until = optionalString(config, 'until');
  for (const signature of [before, until]) if (signature !== null) checkSignature(signature);
  const newest = view.at(blockCommitment(config)).slot;
  const records = view.chain.ledger.recordsOf(address);
  const found: unknown[] = before === null ? falseHistory(address, view, limit) : [];
  let started = before === null;
  for (let index = records.length - 1; index >= 0 && found.length < limit; index -= 1) {
    const record = records[index];
    if (!record || record.slot < view.firstSlot) break;
    const { signature } = record.transaction;
    if (signature === until) break;
    if (started && record.slot <= newest && view.hasBlock(record.slot))
      found.push(describeSignature(record, view));
    if (signature === before) started = true;
  }
  return found;
}

function falseHistory(address: string, view: NodeView, limit: number): unknown[] {
  const { slot, time } = view.at('finalized');
  return view
    .falseHistoryOf(address)
    .slice(0, limit)
    .map((signature) => ({
      blockTime: time,
      confirmationStatus: 'finalized',
      err: null,
      memo: null,
      signature,
      slot,
    }));
}

function describeSignature(record: TransactionRecord, view: NodeView): unknown {
  return {
    blockTime: record.blockTime,
    confirmationStatus: view.commitmentOf(record.slot),
    err: record.meta.err,
    memo: record.memo,
    signature: record.transaction.signature,
    slot: record.slot,
  };
}

export const transactionMethods: MethodTable = {
  getTransaction,
  getSignatureStatuses: signatureStatuses,
  getSignaturesForAddress: signaturesForAddress,
};
