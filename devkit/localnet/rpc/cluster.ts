import { SLOTS_PER_EPOCH } from '../chain/chain.ts';
import { API_VERSION, type MethodTable } from './call.ts';
import { failures } from './errors.ts';

/** Genesis hash of devnet, so that clients choose their devnet tokens. */
export const GENESIS_HASH = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
/** A node that is more than this number of slots behind the cluster reports itself as unhealthy. */
const MAX_HEALTHY_LAG = 128;

export const clusterMethods: MethodTable = {
  getHealth: (_params, view) => {
    const behind = view.chain.ledger.tip.slot - view.at('processed').slot;
    if (behind > MAX_HEALTHY_LAG) throw failures.behind(behind);
    return 'ok';
  },
  getVersion: () => ({ 'feature-set': 128318206, 'solana-core': API_VERSION }),
  getGenesisHash: () => GENESIS_HASH,
  getIdentity: (_params, view) => ({ identity: view.identity }),
  getSlot: (params, view) => view.bank(params.config(0)).slot,
  getBlockHeight: (params, view) => view.heightOf(view.bank(params.config(0))),
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
};
