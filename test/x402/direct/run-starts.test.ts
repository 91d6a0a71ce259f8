import { describe, expect, it } from 'vitest';
import { RunStarts } from '../../../src/x402/direct/run-starts.ts';

const QUICK = { firstRetryMs: 1 };
const unexpected = (error: unknown) => {
  throw error;
};

/** Starts that a test ends one by one, in the order in which they began. */
function heldStarts() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const start = (run: string) => {
    begun.push(run);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { begun, start, endNext: () => ends.shift()?.() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the starts of workflow runs', () => {
  it('are two at once, in the order of their payments', async () => {
    const { begun, start, endNext } = heldStarts();
    const starts = new RunStarts(start, unexpected);
    for (const run of ['a', 'b', 'c']) starts.add(run);
    await turn();
    expect(begun).toEqual(['a', 'b']);
    endNext();
    await turn();
    expect(begun).toEqual(['a', 'b', 'c']);
    endNext();
    endNext();
    await starts.close();
  });

  it('are tried again, and are left to the schedule after the last try', async () => {
    const warnings: string[] = [];
    const tries: string[] = [];
    const start = async (run: string) => {
      tries.push(run);
      if (run === 'never' || tries.filter((name) => name === run).length < 3) throw new Error('no server');
    };
    const starts = new RunStarts(start, (_error, message) => warnings.push(message), { ...QUICK, tries: 4 });
    starts.add('late');
    starts.add('never');
    await expect.poll(() => warnings).toHaveLength(1);
    expect(tries.filter((run) => run === 'late')).toHaveLength(3);
    expect(tries.filter((run) => run === 'never')).toHaveLength(4);
    await starts.close();
  });

  it('are left to the schedule while too many are pending', async () => {
    const warnings: string[] = [];
    const { begun, start, endNext } = heldStarts();
    const starts = new RunStarts(start, (_error, message) => warnings.push(message), { maxPending: 2 });
    for (const run of ['a', 'b', 'c']) starts.add(run);
    await turn();
    expect([begun, warnings.length]).toEqual([['a', 'b'], 1]);
    endNext();
    endNext();
    await starts.close();
  });

  it('are all tried once more when the process stops', async () => {
    const { begun, start, endNext } = heldStarts();
    const starts = new RunStarts(start, unexpected, { concurrency: 1 });
    for (const run of ['a', 'b']) starts.add(run);
    let isClosed = false;
    const closing = starts.close().then(() => (isClosed = true));
    await turn();
    endNext();
    await turn();
    expect([begun, isClosed]).toEqual([['a', 'b'], false]);
    endNext();
    await closing;
  });
});
