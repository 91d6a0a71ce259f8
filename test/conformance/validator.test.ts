import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { conformanceSuite, type RunningChain } from './suite.ts';

const BINARY = 'solana-test-validator';
const RPC_PORT = 18_999;
const START_SECONDS = 60;

async function ready(url: string): Promise<boolean> {
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBlockHeight', params: [] });
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { result } = (await answer.json()) as { result?: number };
    return (result ?? 0) > 0;
  } catch {
    return false;
  }
}

async function startValidator(): Promise<RunningChain> {
  const ledger = mkdtempSync(join(tmpdir(), 'sluice-validator-'));
  const ports = ['--rpc-port', String(RPC_PORT), '--faucet-port', String(RPC_PORT + 501)];
  const child = spawn(BINARY, ['--ledger', ledger, ...ports, '--ticks-per-slot', '16', '--quiet'], {
    stdio: 'ignore',
  });
  const rpcUrl = `http://127.0.0.1:${RPC_PORT}`;
  const stop = async (): Promise<void> => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await Promise.race([gone, sleep(10_000)]);
    rmSync(ledger, { recursive: true, force: true });
  };
  for (let waited = 0; waited < START_SECONDS * 2; waited += 1) {
    if (await ready(rpcUrl)) return { rpcUrl, wsUrl: `ws://127.0.0.1:${RPC_PORT + 1}`, stop };
    await sleep(500);
  }
  await stop();
  throw new Error(`${BINARY} did not answer within ${START_SECONDS} s`);
}

if (spawnSync(BINARY, ['--version']).status === 0)
  conformanceSuite('validator', startValidator, { newer: false });
else it.skip(`needs ${BINARY} on PATH`, () => undefined);
