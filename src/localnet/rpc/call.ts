import type { Chain } from '../chain/chain.ts';
import type { Block, Commitment } from '../chain/records.ts';
import { failures } from './errors.ts';
import { type Config, commitmentOf, optionalNumber, type Params } from './params.ts';

export const API_VERSION = '3.0.0';

/** What a node sees of the chain while it answers one call: it may lag, and its history may start late. */
export class NodeView {
  readonly chain: Chain;
  readonly lagBlocks: number;
  readonly historyFrom: number;

  constructor(chain: Chain, lagBlocks = 0, historyFrom = 0) {
    this.chain = chain;
    this.lagBlocks = lagBlocks;
    this.historyFrom = historyFrom;
  }

  at(commitment: Commitment): Block {
    return this.chain.at(commitment, this.lagBlocks);
  }

  /** First slot that this node can still show. */
  get firstSlot(): number {
    return Math.max(this.historyFrom, this.chain.ledger.first.slot);
  }

  /** The block that a config asks for; refuses when `minContextSlot` is still ahead. */
  bank(config: Config): Block {
    const block = this.at(commitmentOf(config));
    const minimum = optionalNumber(config, 'minContextSlot');
    if (minimum !== null && block.slot < minimum) throw failures.minContextSlot(block.slot);
    return block;
  }

  /** How far the node has come with a block of its history: null while it does not know the block. */
  commitmentOf(slot: number): Commitment | null {
    if (slot <= this.at('finalized').slot) return 'finalized';
    if (slot <= this.at('confirmed').slot) return 'confirmed';
    return slot <= this.at('processed').slot ? 'processed' : null;
  }
}

/** Wraps a value with the slot that it was read at. */
export function withContext<T>(
  block: Block,
  value: T,
): { context: { apiVersion: string; slot: number }; value: T } {
  return { context: { apiVersion: API_VERSION, slot: block.slot }, value };
}

/** Answers one call. */
export type Method = (params: Params, view: NodeView) => unknown;

/** Methods by name. */
export type MethodTable = Readonly<Record<string, Method>>;
