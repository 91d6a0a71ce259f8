import { expect, test } from 'vitest';
import type { ScanGap, ScanOverview } from '../../src/client/client.ts';
import { startScriptedServer } from '../client/scripted-server.ts';
import { callSluice } from '../support/call-sluice.ts';

const closed: ScanGap = {
  from: '101',
  to: '109',
  state: 'closed',
  openedAt: '2026-11-22T09:00:00.000Z',
  endedAt: '2026-11-22T09:10:00.000Z',
  actor: 'ops',
  reason: 'pruned everywhere',
  readAt: null,
};
const overview: ScanOverview = {
  state: 'tail',
  cursor: { slot: '120', blockhash: 'b120', height: '100' },
  tip: '121',
  lag: '1',
  blocksPerSecond: 2.5,
  at: '2026-11-22T10:00:00.000Z',
  gaps: [closed],
  backfills: [],
};

test('scan status names the closed gaps whose blocks are not read yet', async () => {
  const server = await startScriptedServer([{ status: 200, body: overview }]);
  const env = { SLUICE_API_URL: server.url, SLUICE_API_KEY: 'key-1' };
  const { stdout, code } = await callSluice(['scan', 'status'], { env });
  await server.close();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^tail: following the chain\n/);
  expect(stdout).toContain('slot 121  1 slots behind  2.5 blocks/s  reported at 2026-11-22T10:00:00.000Z\n');
  expect(stdout).toContain('closed  101 to 109 by ops: pruned everywhere; its blocks are not read yet');
});
