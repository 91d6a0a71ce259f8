import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answersOfMost, type NodeRequest } from '../../src/solana/rpc/answers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A node that answers after so long; `avoided` ones are not waited for. */
function after(ms: number, answer: number | Error, avoided = false): NodeRequest<number> {
  const delayed = new Promise<number>((resolve, reject) => {
    setTimeout(() => (typeof answer === 'number' ? resolve(answer) : reject(answer)), ms);
  });
  return { answer: delayed, isExpected: !avoided };
}

/** The recorded answers, and the milliseconds after which each arrived. */
async function recordedAnswers(
  asked: readonly NodeRequest<number>[],
  quorum: number,
): Promise<{ readonly at: number; readonly answers: readonly (number | string | null)[] }> {
  const start = performance.now();
  const ended = answersOfMost(asked, quorum).then((results) => ({
    at: performance.now() - start,
    answers: results.map((one) => (one === null ? null : one.status === 'fulfilled' ? one.value : 'failed')),
  }));
  await vi.advanceTimersByTimeAsync(60_000);
  return ended;
}

const FAILED = new Error('down');

it('the answers end with the last one when that comes soon', async () => {
  expect(await recordedAnswers([after(10, 1), after(20, 2), after(300, 3)], 2)).toEqual({
    at: 300,
    answers: [1, 2, 3],
  });
  expect(await recordedAnswers([after(10, 1), after(20, FAILED), after(30, 3)], 2)).toEqual({
    at: 30,
    answers: [1, 'failed', 3],
  });
});

it('the answers end half a second after a quorum, without the late one', async () => {
  expect(await recordedAnswers([after(10, 1), after(20_000, 2), after(40, 3)], 2)).toEqual({
    at: 540,
    answers: [1, null, 3],
  });
});

it('the answers end with a quorum when all other nodes are avoided', async () => {
  const asked = [after(10, 1), after(40, 2), after(20_000, 3, true)];
  expect(await recordedAnswers(asked, 2)).toEqual({ at: 40, answers: [1, 2, null] });
});

it('the answers include an avoided node that a quorum needs', async () => {
  const asked = [after(10, 1), after(20, FAILED), after(5_000, 3, true)];
  expect(await recordedAnswers(asked, 2)).toEqual({ at: 5_000, answers: [1, 'failed', 3] });
});

it('the answers are empty when no node is asked', async () => {
  expect((await recordedAnswers([], 1)).answers).toEqual([]);
});
