import { SLOTS_PER_EPOCH } from '../chain/chain.ts';
import type { Block } from '../chain/records.ts';
import { API_VERSION, type MethodTable, type NodeView } from './call.ts';
import { failures, invalidParams } from './errors.ts';

/** Genesis hash of devnet, which official clients take for the network of test tokens. */
export const GENESIS_HASH = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
/** Slots that a node may be behind the cluster and still call itself healthy. */
const HEALTHY_SLOTS = 128;
const MAX_SAMPLES = 720;
const SAMPLE_SECONDS = 60;

function performanceSamples(view: NodeView, limit: number): unknown[] {
  const newest = view.at('finalized');
  const blocks = view.chain.ledger.range(view.firstSlot, newest.slot);
  const samples: unknown[] = [];
  let end = blocks.length;
  while (end > 0 && samples.length < limit) {
    const last = blocks[end - 1];
    if (!last) break;
    let start = end;
    let transactions = 0;
    for (
      let block: Block | undefined = last;
      block && last.time - block.time < SAMPLE_SECONDS;
      block = blocks[start - 1]
    ) {
      transactions += block.transactions.length;
      start -= 1;
    }
    // A window that the history cuts off is not a whole sample.
    if (start <= 0) break;
    const numSlots = last.slot - (blocks[start]?.slot ?? last.slot) + 1;
    samples.push({
      numNonVoteTransactions: transactions,
      numSlots,
      numTransactions: transactions,
      samplePeriodSecs: SAMPLE_SECONDS,
      slot: last.slot,
    });
    end = start;
  }
  return samples;
}

/** Methods about the node and the cluster. */
export const clusterMethods: MethodTable = {
  getHealth: (_params, view) => {
    const behind = view.chain.ledger.tip.slot - view.at('processed').slot;
    if (behind > HEALTHY_SLOTS) throw failures.behind(behind);
    return 'ok';
  },
  getVersion: () => ({ 'feature-set': 128318206, 'solana-core': API_VERSION }),
  getGenesisHash: () => GENESIS_HASH,
  getIdentity: (_params, view) => ({ identity: view.identity }),
  getSlot: (params, view) => view.bank(params.config(0)).slot,
  getBlockHeight: (params, view) => view.heightOf(view.bank(params.config(0))),
  getTransactionCount: (params, view) => {
    view.bank(params.config(0));
    return view.chain.ledger.transactionCount;
  },
  getFirstAvailableBlock: (_params, view) => view.firstSlot,
  getEpochInfo: (params, view) => {
    const block = view.bank(params.config(0));
    const { slot } = block;
    return {
      absoluteSlot: slot,
      blockHeight: view.heightOf(block),
      epoch: Math.floor(slot / SLOTS_PER_EPOCH),
      slotIndex: slot % SLOTS_PER_EPOCH,
      slotsInEpoch: SLOTS_PER_EPOCH,
      transactionCount: view.chain.ledger.transactionCount,
    };
  },
  getRecentPerformanceSamples: (params, view) => {
    const limit = params.has(0) ? params.integer(0, 'usize') : MAX_SAMPLES;
    if (limit > MAX_SAMPLES) throw invalidParams(`Invalid limit; max ${MAX_SAMPLES}`);
    return performanceSamples(view, limit);
  },
};
