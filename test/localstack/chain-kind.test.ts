import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { chainOf } from '../../devkit/demo/report.ts';
import { startStack } from '../../devkit/localstack/stack.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'sluice-chain-kind-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

test('without solana-test-validator on PATH the stack starts nothing, and one line names the remedy', async () => {
  const started: string[] = [];
  const say = (line: string) => started.push(line);
  const stack = startStack({ stateDir, chainKind: 'validator', env: { PATH: stateDir }, say });
  await expect(stack).rejects.toThrow(/^solana-test-validator is not on PATH: install .+ localnet$/);
  expect(started).toEqual([]);
  expect(existsSync(join(stateDir, 'logs'))).toBe(false);
});

test('the stack starts no chain of its own beside the nodes of SLUICE_RPC_URLS', async () => {
  const env = { SLUICE_RPC_URLS: 'http://127.0.0.1:8899' };
  const stack = startStack({ stateDir, chainKind: 'validator', env });
  await expect(stack).rejects.toThrow('unset SLUICE_RPC_URLS');
});

test('the report of the demo names the limits of its chain', () => {
  const one = ['http://127.0.0.1:8899'];
  expect(chainOf({ chainKind: 'localnet', rpcUrls: [...one, ...one] })).toEqual({
    kind: 'localnet',
    nodes: 2,
    leftOut: [],
  });
  const { kind, nodes, leftOut } = chainOf({ chainKind: 'validator', rpcUrls: one });
  expect([kind, nodes]).toEqual(['validator', 1]);
  expect(leftOut.join()).toMatch(/quorum of one.+lost sends.+lying nodes/);
});
