import { describe, expect, it } from 'vitest';
import type { SigningTask } from '../../src/domain/steps.ts';
import { signAll } from '../../src/workflows/settle.ts';

const [HOT, PAYER] = ['hot', 'fee-payer/0'].map((key) => ({ kind: 'k', key, message: '', terms: {} })) as [
  SigningTask,
  SigningTask,
];

/** The error where `silent` signs nothing, and the signatures stored until then. */
async function signed(signature: string | null, tasks: readonly SigningTask[], silent = '') {
  const stored: string[] = [];
  const answer = await signAll(signature, tasks, {
    sign: async ({ key }) => (key === silent ? null : `by ${key}`),
    store: async (one) => stored.push(one),
  });
  return { answer, stored };
}

describe('the signatures of our own keys', () => {
  it("are stored except for the last, which is the fee payer's", async () => {
    expect(await signed(null, [HOT, PAYER])).toEqual({ answer: 'by fee-payer/0', stored: ['by hot'] });
  });

  it('are all stored where the fee payer has signed already', async () => {
    expect(await signed('theirs', [HOT])).toEqual({ answer: 'theirs', stored: ['by hot'] });
    expect(await signed('theirs', [])).toEqual({ answer: 'theirs', stored: [] });
  });

  it('are not requested after a missing signature', async () => {
    expect(await signed(null, [HOT, PAYER], 'hot')).toEqual({ answer: null, stored: [] });
    expect(await signed('theirs', [HOT], 'hot')).toEqual({ answer: null, stored: [] });
  });
});
