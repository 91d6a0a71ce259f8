import { PublicKey, SystemProgram } from '@solana/web3.js';
import { afterEach, describe, expect, it } from 'vitest';
import { newWallet } from '../support/stack.ts';
import { nothingIsLeft, outcomesAnywhere } from './outcomes-anywhere.ts';
import { query, reaches, sol } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
afterEach(() => use.chain.heal());

outcomesAnywhere(use, { quorum: 2, patienceMs: 120_000 });

describe('a transaction that lands and fails', () => {
  // The last payment: a spend that is nobody's attempt pauses all withdrawals.
  it('that fails on chain ends the withdrawal with the error in words, and gives the money back', async () => {
    const key = use.chain.hotKey();
    const terms = sol('failing', { amount: '900000000000' });
    await use.chain.swallowSends();
    await use.sluice.withdraw(terms);
    await reaches(use.sluice, terms.id, 'sending');
    await use.chain.healAndSend(key, [
      SystemProgram.transfer({
        fromPubkey: key.publicKey,
        toPubkey: new PublicKey(newWallet()),
        lamports: (await use.chain.lamports(use.stack.hotWallet)) - 100_000_000_000,
      }),
    ]);

    const failed = await use.sluice.waitForFinal(terms.id);
    expect(failed).toMatchObject({ status: 'failed', reason: { code: 'failed_on_chain' } });
    expect(failed.reason?.message).toContain('instruction 3 (System program) failed: insufficient funds');
    expect(failed.attempts).toMatchObject([
      { n: 1, state: 'failed', error: expect.stringContaining('Custom') },
    ]);
    expect(await openReservations(terms.id)).toBe('0');
    expect(await use.chain.paymentsTo(terms.destination)).toEqual([]);
  });
});

nothingIsLeft(use);

async function openReservations(id: string): Promise<string | undefined> {
  const [row] = await query<{ sum: string }>(
    use.stack,
    `select coalesce(sum(amount), 0)::text as sum from reservation where state = 'open' and settlement_id = $1`,
    [id],
  );
  return row?.sum;
}
