import { unitPrice, writableKeys } from '../chain/execution.ts';
import { transactionFee } from '../chain/fees.ts';
import { MAX_AGE } from '../chain/lifetime.ts';
import { nonceAccountOf, readNonce } from '../chain/nonce.ts';
import type { Block } from '../chain/records.ts';
import { decodeMessage, type WireMessage } from '../encoding/wire.ts';
import { type MethodTable, type NodeView, withContext } from './call.ts';
import { invalidParams } from './errors.ts';
import { checkAddress, type Params } from './params.ts';

const MAX_FEE_BLOCKS = 150;
const MAX_FEE_ACCOUNTS = 128;

function decodeMessageParam(params: Params): WireMessage {
  const bytes = Buffer.from(params.string(0), 'base64');
  try {
    return decodeMessage(bytes);
  } catch {
    throw invalidParams(
      'failed to deserialize solana_message::non_bpf_modules::versions::VersionedMessage: io error: failed to fill whole buffer',
    );
  }
}

function feeForMessage(params: Params, view: NodeView): unknown {
  const message = decodeMessageParam(params);
  const block = view.bank(params.config(1));
  const nonce = nonceAccountOf(message);
  const isValid =
    (view.chain.lifetimes.heightOf(message.blockhash) ?? Number.POSITIVE_INFINITY) <= block.height ||
    (nonce !== null && readNonce(view.chain.account(nonce, block))?.nonce === message.blockhash);
  const { base, priority } = transactionFee(message);
  return withContext(block, isValid ? base + priority : null);
}

/** The lowest unit price in a block: among all transactions, and for each writable account. */
type LowestPrices = { readonly all: bigint; readonly byAccount: ReadonlyMap<string, bigint> };

const pricesOfBlock = new WeakMap<Block, LowestPrices>();

function lowestPrices(block: Block): LowestPrices {
  const known = pricesOfBlock.get(block);
  if (known) return known;
  const byAccount = new Map<string, bigint>();
  let all: bigint | null = null;
  for (const { transaction, meta } of block.transactions) {
    const price = unitPrice(transaction);
    if (all === null || price < all) all = price;
    for (const key of writableKeys(transaction, meta.loaded)) {
      const least = byAccount.get(key);
      if (least === undefined || price < least) byAccount.set(key, price);
    }
  }
  const found = { all: all ?? 0n, byAccount };
  pricesOfBlock.set(block, found);
  return found;
}

function prioritizationFees(params: Params, view: NodeView): unknown {
  const accounts = params.has(0) ? params.strings(0).map(checkAddress) : [];
  if (accounts.length > MAX_FEE_ACCOUNTS)
    throw invalidParams(`Too many inputs provided; max ${MAX_FEE_ACCOUNTS}`);
  return newestWithTransactions(view).map((block) => {
    const { all, byAccount } = lowestPrices(block);
    const prioritizationFee = accounts.reduce((most, account) => {
      const least = byAccount.get(account) ?? 0n;
      return least > most ? least : most;
    }, all);
    return { prioritizationFee, slot: block.slot };
  });
}

/** The newest blocks with a transaction that is not a vote, whatever their age, oldest first. Agave's fee cache has the same. */
function newestWithTransactions(view: NodeView): Block[] {
  const { ledger } = view.chain;
  const found: Block[] = [];
  let depth = ledger.depthOf(view.at('confirmed').slot);
  for (let block = ledger.below(depth); found.length < MAX_FEE_BLOCKS; block = ledger.below(depth)) {
    if (block.transactions.length > 0) found.unshift(block);
    if (block === ledger.first) break;
    depth += 1;
  }
  return found;
}

/** The false price for each of the newest blocks, also for empty ones; null without a `false-price` fault. */
function falsePrices(view: NodeView): readonly unknown[] | null {
  const price = view.falsePrice;
  if (price === null) return null;
  const newest = view.at('confirmed').slot;
  const blocks = view.chain.ledger.range(Math.max(1, newest - MAX_FEE_BLOCKS + 1), newest);
  return blocks.map(({ slot }) => ({ prioritizationFee: price, slot }));
}

export const blockhashMethods: MethodTable = {
  getLatestBlockhash: (params, view) => {
    const block = view.bank(params.config(0));
    return withContext(block, {
      blockhash: block.blockhash,
      lastValidBlockHeight: view.heightOf(block) + MAX_AGE,
    });
  },
  isBlockhashValid: (params, view) => {
    const blockhash = params.address(0);
    const block = view.bank(params.config(1));
    return withContext(block, view.chain.lifetimes.isValid(blockhash, block.height, view.blockhashAge));
  },
  getFeeForMessage: feeForMessage,
  getRecentPrioritizationFees: (params, view) => falsePrices(view) ?? prioritizationFees(params, view),
};

export const legacyMethods: MethodTable = {
  getRecentBlockhash: (params, view) => {
    const block = view.bank(params.config(0));
    return withContext(block, { blockhash: block.blockhash, feeCalculator: { lamportsPerSignature: 5000 } });
  },
  getFees: (params, view) => {
    const block = view.bank(params.config(0));
    return withContext(block, {
      blockhash: block.blockhash,
      feeCalculator: { lamportsPerSignature: 5000 },
      lastValidSlot: block.slot + MAX_AGE,
      lastValidBlockHeight: view.heightOf(block) + MAX_AGE,
    });
  },
  getFeeCalculatorForBlockhash: (params, view) => {
    const blockhash = params.address(0);
    const block = view.bank(params.config(1));
    const valid = view.chain.lifetimes.isValid(blockhash, block.height, view.blockhashAge);
    return withContext(block, valid ? { feeCalculator: { lamportsPerSignature: 5000 } } : null);
  },
};
