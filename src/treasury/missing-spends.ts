import type { PauseScope } from '../domain/pause-scope.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ScannedSpend } from '../ledger/settlements/wallet-history.ts';
import { confirmedBlock } from '../solana/proof/linked-blocks.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { unprovedSpendAlarm } from './hot-wallet-alerts.ts';

export interface UnprovedSpendsDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
}

/**
 * Ends the wait for proofs of spends that only the scan has seen; returns the signatures it has judged. If a
 * quorum shows the block without the transaction, the scanned node invented it. Otherwise it counts as an
 * unknown spend, and pauses the same scope. So no spend stays unjudged.
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
  const block = await confirmedBlock(pool, slot).catch(() => null);
  return block !== null && !block.signatures.has(signature);
}
