import { base64 } from '@scure/base';
import type { AttemptRow } from '../ledger/attempts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { verifySignature } from '../signing/verify.ts';
import type { Chain } from '../solana/chain.ts';
import { HISTORY_BOUNDS, type HistoryBounds } from '../solana/history-pages.ts';
import { messageHashOf } from '../solana/message.ts';
import { examineUnsigned, unsignedCache } from '../solana/unsigned-investigation.ts';
import { confirmOneCluster } from './one-cluster.ts';

export interface BurialDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  /** How much of the wallet's history one round reads. */
  readonly history?: HistoryBounds;
}

/** A proof reads every block of a minute twice: after so long no other one begins in this round. */
const ROUND_MS = 30_000;
const ROWS_A_ROUND = 200;

/** Attempts that the signer refused: nobody signs them, so nobody watches them, and only a proof of death frees their withdrawals. */
export function createBurial({ ledger, chain, history = HISTORY_BOUNDS }: BurialDeps) {
  const cache = unsignedCache(history);

  /** A row that is not what was prepared says nothing about what was signed: people must look at it. */
  async function bury({
    withdrawalId,
    n,
    wallet,
    message,
    messageHash,
    ...life
  }: AttemptRow): Promise<boolean> {
    const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight } = life;
    if (blockhashHeight === null || lastValidBlockHeight === null) return false;
    if (messageHashOf(base64.decode(message)) !== messageHash) return false;
    const facts = { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, messageHash, wallet };
    const found = await examineUnsigned(chain, facts, cache, verifySignature);
    if (found?.verdict.kind !== 'dead') return false;
    await confirmOneCluster(ledger, chain.pool);
    const proof = { ...found.times, ...found.evidence };
    await ledger.attempts.settle(withdrawalId, n, { state: 'dead', signature: null, proof });
    return true;
  }

  return {
    /** Answers how many are proved dead. One that cannot be proved now, or is signed meanwhile, waits for the next round. */
    async buryRefused(): Promise<number> {
      const end = performance.now() + ROUND_MS;
      let buried = 0;
      for (const row of await ledger.attempts.refused(ROWS_A_ROUND)) {
        if (performance.now() > end) break;
        if (await bury(row).catch(() => false)) buried += 1;
      }
      return buried;
    },
  };
}
