import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PaymentRuns } from '../../../src/platform/temporal/settle-payment.ts';
import { openService, type Service } from '../../http/service.ts';

/** Without a worker: no update gets an answer. */
let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

it('each caller has its own timeout, and concurrent callers share one update', async () => {
  const { temporal } = service;
  const update = vi.spyOn(temporal.workflow, 'executeUpdateWithStart');
  const runs = new PaymentRuns(temporal);
  const start = performance.now();
  const waited = async (withinMs: number) => {
    await expect(runs.reach('x402/a/b', 'confirmed', withinMs)).rejects.toMatchObject({
      code: 'Unavailable',
    });
    return performance.now() - start;
  };
  const [first, short, long] = await Promise.all([waited(1_000), waited(200), waited(1_800)]);
  expect(update).toHaveBeenCalledOnce();
  expect(short).toBeLessThan(first);
  expect(first).toBeLessThan(long);
});

it('a caller whose timeout exceeds that of an update starts another update', async () => {
  const { temporal } = service;
  const update = vi.spyOn(temporal.workflow, 'executeUpdateWithStart');
  const calls = update.mock.calls.length;
  const runs = new PaymentRuns(temporal);
  const ended = await Promise.allSettled([
    runs.reach('x402/a/c', 'confirmed', 100),
    runs.reach('x402/a/c', 'confirmed', 1_000),
    runs.reach('x402/a/c', 'confirmed', 1_000),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(update.mock.calls.length - calls).toBe(2);
});
