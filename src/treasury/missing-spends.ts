import type { PauseScope } from '../domain/pause-scope.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ScannedSpend } from '../ledger/settlements/spends.ts';
import { witnessedBlock } from '../solana/proof/linked-blocks.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { unprovedSpendAlarm } from './hot-wallet-alerts.ts';

export interface UnprovedSpendsDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
}

/**
 * Ends the wait for proofs of spends that the scan saw and no node shows. Where a quorum shows the block without the transaction, the
 * node that the scan read it from has made it up; where not, it counts as what it looks like, and pauses what the wallet's unknown spends pause. So no spend stays
 * unjudged. Answers those that are judged by that.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export async function settleUnproved(
  { ledger, pool }: UnprovedSpendsDeps,
  wallet: string,
  spends: readonly ScannedSpend[],
  scope: PauseScope,
): Promise<readonly string[]> {
  for (const { signature, slot, isOverdue } of spends) {
    if (!isOverdue || (await isMadeUp(pool, signature, slot))) continue;
    await ledger.pauses.sound(unprovedSpendAlarm(wallet, signature, slot), undefined, scope);
  }
  return spends.filter(({ isOverdue }) => isOverdue).map(({ signature }) => signature);
}

async function isMadeUp(pool: NodePool, signature: string, slot: bigint): Promise<boolean> {
  const block = await witnessedBlock(pool, slot).catch(() => null);
  return block !== null && !block.signatures.has(signature);
}
