import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startFailingWorker } from '../support/crash.ts';
import { stepFails } from '../support/last-words.ts';
import { settledBooks, sol } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

/** Both sides of every call that the steps of a withdrawal make to change the record. */
const POINTS = [
  'withdrawals.reserve',
  'attempts.prepare',
  'attempts.storeSignature',
  'withdrawals.note',
  'withdrawals.note confirmed',
  'attempts.settle',
].flatMap((call) => [`before ${call}`, `after ${call}`]);

/** Each point alone, all of them, and lists by chance, in which a point may fail several times. */
const LISTS: readonly (readonly string[])[] = [
  ...POINTS.map((point) => [point]),
  POINTS,
  ...fc.sample(fc.array(fc.constantFrom(...POINTS), { minLength: 2, maxLength: 6 }), 17),
];

it('a withdrawal of which any steps fail, before or after their effect, is paid exactly once', async () => {
  const { stack, sluice, chain } = use;
  await stack.worker.kill('SIGKILL');
  const all = LISTS.map((points, index) => ({ points, terms: sol(`fails-${index}`) }));
  const plan = Object.fromEntries(all.map(({ points, terms }) => [terms.id, points]));
  const worker = await startFailingWorker(stack, plan);
  try {
    await Promise.all(all.map(({ terms }) => sluice.withdraw(terms)));
    for (const { points, terms } of all) {
      const { status, attempts } = await sluice.waitForFinal(terms.id);
      expect({ points, status }).toEqual({ points, status: 'finalized' });
      expect(attempts.map(({ state }) => state)).toEqual([
        ...Array(attempts.length - 1).fill('dead'),
        'landed',
      ]);
      expect({ points, paid: await chain.paymentsTo(terms.destination) }).toMatchObject({
        points,
        paid: [{ signature: attempts.at(-1)?.signature, received: BigInt(terms.amount) }],
      });
    }
    const { chain: onChain, record, live, openReservations } = await settledBooks(stack);
    expect(record).toEqual(onChain);
    expect({ live, openReservations }).toEqual({ live: 0, openReservations: 0n });
    const said = readFileSync(worker.logFile, 'utf8').split('\n');
    const alone = all.slice(0, POINTS.length);
    for (const { points, terms } of alone) expect(said).toContain(stepFails(terms.id, points[0] ?? ''));
  } finally {
    await worker.stop();
  }
}, 240_000);
