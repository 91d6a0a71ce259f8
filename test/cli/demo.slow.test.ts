import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { developmentPool } from '../../devkit/demo/development-pool.ts';
import type { DemoReport } from '../../devkit/demo/report.ts';
import { runScenario } from '../../devkit/demo/scenario.ts';
import { demoRoutes } from '../../devkit/demo/shopping.ts';
import { renderTable, WITHDRAWAL_HEADINGS } from '../../devkit/demo/table.ts';
import { type DemoUpstream, startUpstream } from '../../devkit/demo/upstream.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { readmeBlocks } from './readme-blocks.ts';

const keys = mkdtempSync(join(tmpdir(), 'sluice-demo-'));
let live: TestStack;
let upstream: DemoUpstream;
let node: string;
let report: DemoReport;
const said: string[] = [];

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });
beforeAll(async () => {
  const say = (line: string) => said.push(line);
  const pool = await developmentPool(keys, say);
  upstream = await startUpstream();
  const settings = { SLUICE_ADDRESS_MANIFEST_KEY: pool.manifest.publicKey };
  live = await testStack(250, settings, 'shared', { routesOf: demoRoutes(upstream.url) });
  node = live.stack.rpcUrls[0] ?? '';
  const { signal } = new AbortController();
  report = await runScenario({ ...live, pool, upstream, node, say, signal });
});
afterAll(async () => {
  await live?.close();
  await upstream?.close();
  rmSync(keys, { recursive: true });
});

test('the demo pays each destination once and rejects one withdrawal', () => {
  expect(report).toMatchObject({ ok: true, faults: [], rejected: { code: 'mint' } });
  const { requested, finalized, transfersOnChain } = report.withdrawals;
  expect([finalized, transfersOnChain]).toEqual([requested, requested]);
  expect(requested).toBeGreaterThanOrEqual(5);
});

test('the table of the README is a part of the table of the demo', () => {
  const [sample = ''] = readmeBlocks()
    .filter(({ heading, language }) => heading === 'Break it' && language === '')
    .map(({ code }) => code);
  const table = renderTable(WITHDRAWAL_HEADINGS, report.rows, live.stack.chainInfo);
  // Without the signatures, which differ.
  const cellsOf = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(0, 4));
  expect(cellsOf(table)).toEqual(expect.arrayContaining(cellsOf(sample)));
});

test('the demo kills a worker between send and confirmation, and the same transaction pays', async () => {
  expect(report).toMatchObject({ workerKilled: true, kill: { status: 'sending' } });
  const signature = report.kill?.signature ?? '';
  expect(said.join('\n')).toMatch(
    /killed worker \d+ with SIGKILL: the node has the transaction \((processed|confirmed)\)/,
  );
  expect(report.rows.filter((row) => row.note === signature)).toHaveLength(1);
  const { value } = await rpc<{ value: readonly unknown[] }>(node, 'getSignatureStatuses', [
    [signature],
    { searchTransactionHistory: true },
  ]);
  expect(value[0]).toMatchObject({ err: null, confirmationStatus: 'finalized' });
});

test('the scanner credits every deposit in the blocks once after a kill, and credits no fake deposit', () => {
  const { made } = report.deposits;
  // One more for each try in which the scan ended before its worker was killed.
  expect(made).toBeGreaterThanOrEqual(8);
  expect(report.deposits).toMatchObject({
    credited: made,
    notCredited: { unknown_mint: 1, below_minimum: 1, not_associated_account: 1, owner_changed: 1 },
    scannerKilled: true,
  });
  const { signature = '', slot = '', cursor = '' } = report.deposits.kill ?? {};
  expect(BigInt(cursor)).toBeLessThan(BigInt(slot));
  expect(report.depositRows.at(-1)).toMatchObject({ status: 'credited', note: signature });
  expect(said.join('\n')).toMatch(/killed worker \d+, the scanner, with SIGKILL: the deposit is in slot \d+/);
});

test('the gateway serves every x402 payment in the blocks once after a kill', () => {
  expect(report.x402).toMatchObject({
    paid: 5,
    served: 5,
    replayed: 1,
    refusedDuplicates: 1,
    passes: 1,
    gatewayKilled: true,
  });
  expect(report.saleRows.map(({ status }) => status)).toEqual(Array(5).fill('served'));
  // The killed gateway had called the upstream, and the upstream answered only the second call.
  const { paymentId } = report.x402.kill ?? {};
  expect(upstream.asked.filter((key) => key === paymentId)).toHaveLength(2);
  expect(upstream.answered.filter((key) => key === paymentId)).toHaveLength(1);
});
