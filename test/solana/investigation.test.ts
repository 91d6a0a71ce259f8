import { base58 } from '@scure/base';
import { expect, it } from 'vitest';
import { judgeAttempt } from '../../src/domain/judge.ts';
import { startLocalnet } from '../../src/localnet/localnet.ts';
import { blockCache } from '../../src/solana/blocks.ts';
import { Chain } from '../../src/solana/chain.ts';
import { askHeights, investigate } from '../../src/solana/investigation.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';

it('proves a death although the first of three nodes cannot tell its height', async () => {
  const localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 3 });
  const pool = await openNodePool(localnet.rpcUrls);
  try {
    const chain = new Chain(pool);
    const { slot, height, ...life } = await chain.latestBlockhash();
    const signature = base58.encode(new Uint8Array(64).fill(7));
    const attempt = { signature, ...life, blockhashSlot: slot, blockhashHeight: height };
    localnet.controls.produceSlots(170);
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'http', status: 503 });
    const [found] = await investigate(chain, [attempt], await askHeights(chain), blockCache());
    expect(found?.evidence.finalizedHeights).toHaveLength(2);
    expect(found && judgeAttempt(attempt, found.evidence)).toEqual({ kind: 'dead' });
  } finally {
    await pool.close();
    await localnet.close();
  }
}, 60_000);
