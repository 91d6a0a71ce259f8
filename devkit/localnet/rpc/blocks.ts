import type { Block, TransactionRecord } from '../chain/records.ts';
import { type EncodeOptions, encodeAccountsOnly, encodeTransaction } from '../encoding/transaction.ts';
import { type MethodTable, type NodeView } from './call.ts';
import { failures, invalidParams } from './errors.ts';
import { blockCommitment, flag, type Options, optionalEnum, optionalNumber, type Params } from './params.ts';

const ENCODINGS = ['json', 'jsonParsed', 'base64', 'base58'] as const;
const DETAILS = ['full', 'accounts', 'signatures', 'none'] as const;

/** Reads a config. Its older form is only the name of an encoding. */
export function encodingConfig(params: Params, index: number): Options {
  try {
    return { encoding: params.string(index) };
  } catch {
    return params.config(index);
  }
}

/** Reads encoding and version options. `check` throws if the caller does not support the version of a transaction. */
export function encodeOptions(config: Options): {
  options: EncodeOptions;
  check: (record: TransactionRecord) => void;
} {
  const highest = optionalNumber(config, 'maxSupportedTransactionVersion');
  return {
    options: {
      encoding: optionalEnum(config, 'encoding', ENCODINGS) ?? 'json',
      showVersion: highest !== null,
      showRewards: flag(config, 'rewards', true),
    },
    check: ({ transaction }) => {
      const { version } = transaction.message;
      if (version !== 'legacy' && (highest === null || version > highest))
        throw failures.unsupportedVersion(version);
    },
  };
}

function findBlock(slot: number, view: NodeView, newest: Block): Block {
  if (slot > newest.slot) throw failures.blockNotAvailable(slot);
  if (slot < view.firstSlot) throw failures.blockCleanedUp(slot, view.firstSlot);
  const block = view.chain.ledger.bySlot(slot);
  if (!block || !view.hasBlock(slot)) throw failures.slotSkipped(slot);
  return block;
}

function encodeBlock(block: Block, view: NodeView, config: Options): unknown {
  const details = optionalEnum(config, 'transactionDetails', DETAILS) ?? 'full';
  const { options, check } = encodeOptions(config);
  const rewards = block.reward
    ? [{ commission: null, ...block.reward, pubkey: view.chain.leader, rewardType: 'Fee' }]
    : [];
  const encodeRecord = (record: TransactionRecord): unknown => {
    check(record);
    return details === 'full' ? encodeTransaction(record, options) : encodeAccountsOnly(record, options);
  };
  return {
    blockHeight: view.heightOf(block),
    blockTime: block.time,
    blockhash: block.blockhash,
    parentSlot: block.parentSlot,
    previousBlockhash: block.previousBlockhash,
    ...(options.showRewards ? { rewards } : {}),
    ...(details === 'full' || details === 'accounts'
      ? { transactions: view.transactionsOf(block).map(encodeRecord) }
      : {}),
    ...(details === 'signatures'
      ? { signatures: view.transactionsOf(block).map((item) => item.transaction.signature) }
      : {}),
  };
}

function slotsOf(view: NodeView, start: number, end: number, limit?: number): number[] {
  const blocks = view.chain.ledger.range(start, end, limit, (slot) => view.hasBlock(slot));
  return blocks.map((block) => block.slot);
}

function listBlocks(params: Params, view: NodeView): number[] {
  const start = params.integer(0);
  const end = params.isNumber(1) ? params.integer(1) : null;
  const commitment = blockCommitment(params.config(end === null ? 1 : 2));
  const newest = view.at(commitment).slot;
  const last = Math.min(end ?? start + view.maxListedSlots, newest);
  if (end !== null && end < start) return [];
  if (last - start > view.maxListedSlots)
    throw invalidParams(`Slot range too large; max ${view.maxListedSlots}`);
  return slotsOf(view, start, last);
}

function listBlocksWithLimit(params: Params, view: NodeView): number[] {
  const start = params.integer(0);
  const limit = params.integer(1, 'usize');
  const commitment = blockCommitment(params.config(2));
  if (limit > view.maxListedSlots) throw invalidParams(`Limit too large; max ${view.maxListedSlots}`);
  const newest = view.at(commitment).slot;
  return slotsOf(view, start, newest, limit);
}

export const blockMethods: MethodTable = {
  getBlock: (params, view) => {
    const slot = params.integer(0);
    const config = encodingConfig(params, 1);
    return encodeBlock(findBlock(slot, view, view.at(blockCommitment(config))), view, config);
  },
  getBlocks: listBlocks,
  getBlocksWithLimit: listBlocksWithLimit,
};
