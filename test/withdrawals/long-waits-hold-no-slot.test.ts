import { expect, it } from 'vitest';
import { SLOT_MS } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { query, solTerms, waitForStatus, wholeRound } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack(SLOT_MS, { SLUICE_LANDINGS_AT_ONCE: '2' });

async function openAlerts(): Promise<readonly string[]> {
  const text = 'select kind from alert where closed_at is null';
  return (await query<{ kind: string }>(use.stack, text)).map(({ kind }) => kind);
}

it('payments that wait for days block no other step', async () => {
  const { sluice, chain } = use;
  await chain.swallowSends();
  await chain.disturb('getSignatureStatuses', { kind: 'http', status: 503 });
  for (const id of ['one', 'two']) {
    await sluice.withdraw(solTerms(id));
    await waitForStatus(sluice, id, 'sending');
  }
  await sluice.withdraw(solTerms('three'));
  await waitForStatus(sluice, 'three', 'preparing');

  await sluice.withdraw(solTerms('ours', { destination: use.stack.hotWallet }));
  await waitForStatus(sluice, 'ours', 'rejected');
  await sluice.withdraw(solTerms('asked', { acceptEmptyWallet: false }));
  await waitForStatus(sluice, 'asked', 'awaiting_confirmation');
  expect((await sluice.cancel('asked')).status).toBe('cancelled');

  const cursor = async () => BigInt((await sluice.scan.status()).cursor?.slot ?? '0');
  const before = await cursor();
  await until(async () => (await cursor()) > before + 20n);
  for (const schedule of ['restartUnfinished', 'walletWatch'] as const)
    await wholeRound(use.temporal, schedule);
  await chain.disturb('*', { kind: 'http', status: 503 }, [1]);
  await until(async () => (await openAlerts()).includes('too_few_nodes'), 120_000);
  expect((await sluice.get('three')).status).toBe('preparing');

  await chain.heal();
  for (const id of ['one', 'two', 'three']) expect((await sluice.waitForFinal(id)).status).toBe('finalized');
}, 240_000);
