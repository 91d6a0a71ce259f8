import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

let localnet: Localnet;
let directory: string;

beforeEach(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  directory = mkdtempSync(join(tmpdir(), 'sluice-nodes-'));
});
afterEach(async () => {
  await localnet.close();
  rmSync(directory, { recursive: true });
});

/** Runs the command with no other `.sluice/dev.json` than that of the test. */
const nodes = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  callSluice(['nodes', 'list', ...args], { cwd: directory, env });

test('sluice nodes shows each node with its faults; a quorum is exit code 0', async () => {
  localnet.controls.produceSlots(20);
  localnet.controls.setFault(0, '*', { kind: 'lag', blocks: 12 });
  localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
  localnet.controls.setFault(1, 'getTransaction', { kind: 'error', code: -32011, message: 'off' });
  const [a = '', b = '', c = ''] = localnet.rpcUrls.map((url) => new URL(url).host);
  const env = { SLUICE_RPC_URLS: localnet.rpcUrls.join(',') };
  const [text, json] = await Promise.all([nodes([], env), nodes(['-o', 'json'], env)]);

  expect(text).toMatchObject({ code: 0, stderr: '' });
  const line = (name: string) => text.stdout.split('\n').find((row) => row.startsWith(name));
  expect(line(a)).toMatch(/joined +3\.0\.0 +12 +\d+ +on +\d+ ms +\d+$/);
  expect(line(b)).toMatch(/joined +3\.0\.0 +0 +\d+ +off +\d+ ms +\d+$/);
  expect(line(c)).toMatch(/silent .*HTTP 503$/);
  expect(text.stdout).toContain(`warning: ${b} stores no transaction history`);
  expect(text.stdout).toMatch(new RegExp(`^warning: ${c} does not answer: .*HTTP 503$`, 'm'));
  expect(text.stdout).toContain('2 of 3 nodes serve, 2 must agree');

  expect(json).toMatchObject({ code: 0, stderr: '' });
  expect(jsonOf(json)).toMatchObject({
    ok: true,
    quorum: 2,
    nodes: [
      { node: a, membership: 'joined', lagSlots: '12', version: '3.0.0', demotion: null },
      { node: b, history: 'off' },
      { node: c, membership: 'silent', demotion: { cause: 'silent' }, score: 0 },
    ],
    warnings: [
      { kind: 'node_history_off', node: b },
      { kind: 'node_silent', node: c, message: expect.stringMatching(/^\S+ does not answer: .*HTTP 503$/) },
    ],
  });
});

test('sluice nodes without a quorum is exit code 5, with the table and the failure in the JSON', async () => {
  for (const node of [0, 1]) localnet.controls.setFault(node, '*', { kind: 'http', status: 503 });
  const ended = await nodes(['-o', 'json'], { SLUICE_RPC_URLS: localnet.rpcUrls.join(',') });
  expect(ended.code).toBe(5);
  expect(jsonOf(ended)).toMatchObject({
    ok: false,
    error: { code: 'NoHealthyNode', message: expect.stringContaining('0 of 3 nodes serve') },
    nodes: [{}, {}, { membership: 'silent' }],
  });
});

test('sluice nodes reads the nodes of a running dev stack; missing nodes or bad settings are a usage error', async () => {
  const none = await nodes([]);
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('set SLUICE_RPC_URLS') });
  const bad = await nodes([], { SLUICE_RPC_URLS: 'ftp://127.0.0.1' });
  expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('SLUICE_RPC_URLS') });
  mkdirSync(join(directory, '.sluice'));
  writeFileSync(join(directory, '.sluice/dev.json'), JSON.stringify({ rpcUrls: localnet.rpcUrls }));
  expect(await nodes([])).toMatchObject({ code: 0, stdout: expect.stringContaining('3 of 3 nodes serve') });
});
