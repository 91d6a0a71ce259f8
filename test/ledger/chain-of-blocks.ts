import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import type { BlockFinding, BlockHeader, Inflow, Outflow } from '../../src/domain/deposit.ts';
import type { MatchedBlock } from '../../src/ledger/scan/scan.ts';

export const EMPTY_FINDING: BlockFinding = { inflows: [], outflows: [], spends: [] };

/** A well-formed address for a name. */
export function address(name: string): string {
  return base58.encode(createHash('sha256').update(name).digest());
}

export const START: BlockHeader = {
  slot: 100n,
  blockhash: 'b100',
  parentSlot: 99n,
  previousBlockhash: 'b99',
  height: 90n,
  time: 1_000n,
};

/** The child of a block; `skipped` slots lie between. Another `fork` is another block at the same slot. */
export function childOf(parent: BlockHeader, { skipped = 0, fork = '' } = {}): BlockHeader {
  const slot = parent.slot + 1n + BigInt(skipped);
  return {
    slot,
    blockhash: `b${slot}${fork}`,
    parentSlot: parent.slot,
    previousBlockhash: parent.blockhash,
    height: parent.height + 1n,
    time: (parent.time ?? 0n) + 1n,
  };
}

/** Consecutive blocks, one for each list of inflows. */
export function chain(parent: BlockHeader, ...inflows: readonly (readonly Inflow[])[]): MatchedBlock[] {
  let last = parent;
  return inflows.map((found) => {
    last = childOf(last);
    return { header: last, finding: { ...EMPTY_FINDING, inflows: found } };
  });
}

/** A SOL payment to a wallet. */
export function inflow(wallet: string, amount = 5n, changes: Partial<Inflow> = {}): Inflow {
  return {
    signature: `s-${wallet}-${amount}`,
    account: wallet,
    wallet,
    asset: 'SOL',
    amount,
    reason: null,
    ...changes,
  };
}

export function outflow(wallet: string, amount = 5n, changes: Partial<Outflow> = {}): Outflow {
  const signature = `o-${wallet}-${amount}`;
  return { signature, account: wallet, wallet, asset: 'SOL', amount, ownerSigned: true, ...changes };
}
