import { expect, it } from 'vitest';
import { Batcher } from '../../../src/solana/rpc/batcher.ts';

it('a batch fails only the request without an answer, at any position in the call', async () => {
  const batcher = new Batcher(
    3,
    10_000,
    async (keys) => new Map(keys.slice(1).map((key) => [key, `${key}!`])),
  );
  const answers = await Promise.allSettled(['lost', 'a', 'b'].map((key) => batcher.get(key)));
  expect(answers).toMatchObject([
    { status: 'rejected', reason: { code: 'NodeFault', message: 'no RPC node returned an answer for lost' } },
    { status: 'fulfilled', value: 'a!' },
    { status: 'fulfilled', value: 'b!' },
  ]);
});
