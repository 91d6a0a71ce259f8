import { expect, it } from 'vitest';
import { newWallet } from '../support/stack.ts';
import { settledBooks } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

it('two transfers to one new token account: the second pays no rent, and the books are those of the chain', async () => {
  const asset = use.chain.mint('mint');
  const destination = newWallet();
  const twins = ['twin-1', 'twin-2'].map((id) => ({
    id,
    asset,
    amount: '1000',
    destination,
    acceptEmptyWallet: true,
  }));
  await Promise.all(twins.map((terms) => use.sluice.withdraw(terms)));
  const ended = await Promise.all(twins.map(({ id }) => use.sluice.waitForFinal(id, { pollMs: 100 })));
  expect(ended.map(({ status }) => status)).toEqual(['finalized', 'finalized']);

  const rents = ended.map(({ attempts }) => BigInt(attempts.at(-1)?.rentLamports ?? -1));
  expect(rents.filter((rent) => rent === 0n)).toHaveLength(1);
  expect(rents.filter((rent) => rent > 0n)).toHaveLength(1);
  const { chain, record } = await settledBooks(use.stack);
  for (const { attempts } of ended) {
    const signature = attempts.at(-1)?.signature ?? '';
    expect(record[signature]).toBe(chain[signature]);
  }
});
