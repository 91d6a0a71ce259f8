import type { Inflow } from '../../domain/deposit.ts';
import { depositKey } from '../../domain/deposit-key.ts';
import type { FoundBlock } from '../../ledger/scan/findings.ts';

type BlockSource = Pick<Inflow, 'signature' | 'account' | 'asset' | 'wallet' | 'amount'> & {
  readonly slot: bigint;
};

const REMEMBERED = 20_000;

/**
 * Remembers which nodes returned each of the newest arrivals. If a quorum denies one, these nodes have lied, whether
 * or not their block was stored. Kept in memory, so a new process cannot blame nodes for earlier blocks.
 */
export class BlockSources {
  readonly #nodes = new Map<string, ReadonlySet<string>>();

  note(node: string, { header: { slot }, finding }: FoundBlock): void {
    for (const inflow of finding.inflows) {
      const key = keyOf({ ...inflow, slot });
      const nodes = new Set([...(this.#nodes.get(key) ?? []), node]);
      this.#nodes.delete(key);
      this.#nodes.set(key, nodes);
    }
    for (const oldest of this.#nodes.keys()) {
      if (this.#nodes.size <= REMEMBERED) break;
      this.#nodes.delete(oldest);
    }
  }

  by(showing: BlockSource): readonly string[] {
    return [...(this.#nodes.get(keyOf(showing)) ?? [])];
  }
}

function keyOf(showing: BlockSource): string {
  return `${depositKey(showing)}/${showing.wallet}/${showing.amount}`;
}
