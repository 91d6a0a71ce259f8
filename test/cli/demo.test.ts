import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { DemoReport } from '../../src/cli/demo/report.ts';
import { runScenario } from '../../src/cli/demo/scenario.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import { type TestStack, testStack } from '../support/stack.ts';

let live: TestStack;
let node: string;
let report: DemoReport;
const said: string[] = [];

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });
beforeAll(async () => {
  live = await testStack(250);
  node = live.stack.rpcUrls[0] ?? '';
  const { signal } = new AbortController();
  report = await runScenario({ ...live, node, say: (line) => said.push(line), signal });
});
afterAll(() => live?.close());

test('pays everyone once and turns one away', () => {
  expect(report).toMatchObject({ ok: true, faults: [], rejected: { code: 'mint' } });
  const { requested, finalized, transfersOnChain } = report.withdrawals;
  expect([finalized, transfersOnChain]).toEqual([requested, requested]);
  expect(requested).toBeGreaterThanOrEqual(5);
});

test('the worker died between send and confirmation, and the same transaction paid', async () => {
  expect(report).toMatchObject({ workerKilled: true, kill: { status: 'sending' } });
  const signature = report.kill?.signature ?? '';
  expect(said.join('\n')).toMatch(
    /killed worker \d+ with SIGKILL: the node has the transaction \((processed|confirmed)\)/,
  );
  expect(report.rows.filter((row) => row.note === signature)).toHaveLength(1);
  const { value } = await rpc<{ value: readonly unknown[] }>(node, 'getSignatureStatuses', [[signature]]);
  expect(value[0]).toMatchObject({ err: null, confirmationStatus: 'finalized' });
});
