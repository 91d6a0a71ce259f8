import { ScheduleOverlapPolicy } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureSchedules } from '../../../src/platform/temporal/schedules.ts';
import { openService, type Service } from '../../http/service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const NAMES = ['restartUnfinished', 'walletWatch', 'reconciliation'];

test('schedules of older versions get the current texts, and keep the changes of operators', async () => {
  const { schedule } = service.temporal;
  const found = (name: string) => schedule.getHandle(name).describe();
  await ensureSchedules(service.temporal);
  const made = await Promise.all(NAMES.map(found));
  expect(made.every(({ action }) => (action.staticSummary ?? '').length > 10)).toBe(true);

  await schedule.getHandle('reconciliation').update(({ action, ...rest }) => ({
    ...rest,
    spec: { intervals: [{ every: '2 hours' }] },
    policies: { ...rest.policies, overlap: ScheduleOverlapPolicy.BUFFER_ONE },
    action: { ...action, staticSummary: 'of an older version' },
  }));
  // Temporal applies a change of a schedule with a delay, and may apply a pause before an earlier change.
  const isChanged = async () => (await found('reconciliation')).action.staticSummary;
  await expect.poll(isChanged, { timeout: 50_000 }).toBe('of an older version');
  await schedule.getHandle('reconciliation').pause('by an operator');
  const isPaused = async () => (await found('reconciliation')).state.paused;
  await expect.poll(isPaused, { timeout: 50_000 }).toBe(true);
  await ensureSchedules(service.temporal);
  const { priority: _, ...words } = made.at(-1)?.action ?? {};
  const doneNow = async () => (await found('reconciliation')).action;
  await expect.poll(doneNow, { timeout: 50_000 }).toMatchObject(words);
  const { spec, state, policies } = await found('reconciliation');
  expect(spec.intervals).toMatchObject([{ every: 7_200_000 }]);
  expect(state).toMatchObject({ paused: true, note: 'by an operator' });
  expect(policies.overlap).toBe(ScheduleOverlapPolicy.BUFFER_ONE);
});
