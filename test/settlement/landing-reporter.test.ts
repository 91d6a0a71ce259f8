import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import type { LandingReport } from '../../src/domain/steps.ts';
import { LandingReporter } from '../../src/settlement/land.ts';

const said: string[] = [];
const signal = async (_name: string, { status }: LandingReport) => void said.push(status);
const client = Object.create(new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }), {
  workflow: { value: { getHandle: () => ({ signal }) } },
}) as Client;

/** The signals that the run receives for a wait with these statuses in sequence. */
async function signalled(
  answersAt: 'confirmed' | 'finalized',
  statuses: readonly LandingReport['status'][],
): Promise<readonly string[]> {
  said.length = 0;
  await new MockActivityEnvironment({}, { client }).run(async () => {
    const reporter = new LandingReporter(1, 'signature');
    reporter.begin({ n: 1, status: 'sending', reason: null }, answersAt);
    for (const status of statuses) {
      reporter.show({ n: 1, status, reason: null });
      await new Promise(setImmediate);
    }
    reporter.stop();
  });
  return [...said];
}

it('the reporter signals waiting callers at confirmed at once, even right after it signalled the run as held', async () => {
  const statuses = ['held', 'confirmed', 'confirmed'] as const;
  expect(await signalled('confirmed', statuses)).toEqual(['held', 'confirmed']);
  expect(await signalled('finalized', statuses)).toEqual(['held']);
});

it('the reporter signals a changing wait to its run no more often than allowed', async () => {
  const statuses = ['held', 'sending', 'held', 'sending'] as const;
  expect(await signalled('confirmed', statuses)).toEqual(['held']);
});
