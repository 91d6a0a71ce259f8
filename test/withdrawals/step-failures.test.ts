import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startFailingWorker } from '../support/crash.ts';
import { failureLine } from '../support/crash-log-lines.ts';
import { settledBooks, solTerms } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

/** Both sides of every call by which an undisturbed payment changes the database. */
const POINTS = [
  'withdrawals.reserve',
  'attempts.prepare',
  'attempts.storeSignature',
  'settlements.note confirmed',
  'attempts.settle',
].flatMap((call) => [`before ${call}`, `after ${call}`]);

/** On a busy machine a payment may be final before a status shows it as confirmed. */
const isAlwaysReached = (point: string): boolean => !point.endsWith('confirmed');

/** Each point alone, all of them, and random lists, in which a point may fail several times. */
const LISTS: readonly (readonly string[])[] = [
  ...POINTS.map((point) => [point]),
  POINTS,
  ...fc.sample(fc.array(fc.constantFrom(...POINTS), { minLength: 2, maxLength: 6 }), {
    numRuns: 17,
    seed: 7,
  }),
];

it('a withdrawal with failures in any of its steps, before or after their effect, is paid exactly once', async () => {
  const { stack, sluice, chain } = use;
  await stack.worker.kill('SIGKILL');
  const all = LISTS.map((points, index) => ({ points, terms: solTerms(`fails-${index}`) }));
  const plan = Object.fromEntries(all.map(({ points, terms }) => [terms.id, points]));
  const worker = await startFailingWorker(stack, plan);
  try {
    await Promise.all(all.map(({ terms }) => sluice.withdraw(terms)));
    for (const { points, terms } of all) {
      const { status, attempts } = await sluice.waitForFinal(terms.id);
      expect({ points, status }).toEqual({ points, status: 'finalized' });
      const [last, ...earlier] = attempts.map(({ state }) => state).toReversed();
      expect({ points, last, earlier }).toEqual({
        points,
        last: 'landed',
        earlier: earlier.map(() => 'dead'),
      });
      expect({ points, paid: await chain.paymentsTo(terms.destination) }).toMatchObject({
        points,
        paid: [{ signature: attempts.at(-1)?.signature, received: BigInt(terms.amount) }],
      });
    }
    const { chain: onChain, record, live, openReservations } = await settledBooks(stack);
    expect(record).toEqual(onChain);
    expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
    const said = readFileSync(worker.logFile, 'utf8').split('\n');
    for (const { points, terms } of all.slice(0, POINTS.length + 1))
      for (const point of points.filter(isAlwaysReached))
        expect(said).toContain(failureLine(terms.id, point));
  } finally {
    await worker.stop();
  }
}, 240_000);
