import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { devFacts, writeDevFile } from '../../devkit/localstack/dev-file.ts';
import { storedApiKey } from '../../devkit/localstack/keypair.ts';
import { type Stack, startStack } from '../../devkit/localstack/stack.ts';
import { processesOf, supervise } from '../../devkit/localstack/supervision.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { writeEvent } from '../../src/ledger/webhooks/outbox.ts';
import { COMPILED } from '../support/compiled.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'sluice-stack-'));
let stack: Stack;

vi.setConfig({ testTimeout: 240_000 });

beforeAll(async () => {
  const { PATH, HOME } = process.env;
  stack = await startStack({
    ...COMPILED,
    stateDir,
    slotMs: 50,
    finalityLag: 4,
    ui: false,
    dbFile: join(stateDir, 'temporal.sqlite'),
    env: { PATH, HOME },
  });
});

afterAll(async () => {
  await stack?.close();
  rmSync(stateDir, { recursive: true, force: true });
});

function alive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('the API of the stack answers only to its key', async () => {
  const list = (key: string) =>
    fetch(`${stack.apiUrl}/v1/withdrawals`, { headers: { authorization: `Bearer ${key}` } });
  expect((await list(stack.apiKey)).status).toBe(200);
  expect((await list('wrong-key-wrong-key')).status).toBe(401);
});

test('the stack keeps the API key for its next start, readable only by its owner', async () => {
  const path = join(stateDir, 'keys', 'api-key');
  expect(storedApiKey(path)).toBe(stack.apiKey);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const ledger = await openLedger(stack.databaseUrl);
  try {
    expect(stack.apiKeyName).toMatch(/^dev-[0-9a-f]{8}$/);
    expect(await ledger.apiKeys.nameOf(stack.apiKey)).toBe(stack.apiKeyName);
  } finally {
    await ledger.close();
  }
});

test('the stack funds the hot wallet on the chain', async () => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params: [stack.hotWallet] });
  const [url] = stack.rpcUrls;
  const answer = await fetch(url ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { result } = (await answer.json()) as { result: { value: number } };
  expect(result.value).toBeGreaterThan(1_000_000_000);
});

test('a worker killed with SIGKILL has ended at once and can be started again', async () => {
  const before = stack.worker.pid;
  await stack.worker.kill('SIGKILL');
  expect(alive(before)).toBe(false);
  expect(stack.worker.running).toBe(false);
  await stack.worker.start();
  expect(stack.worker.pid).not.toBe(before);
  expect(alive(stack.worker.pid)).toBe(true);
});

test('the dev file names every address of the stack, readable only by its owner', () => {
  const path = join(stateDir, 'dev.json');
  const deposits = { manifestFile: '/pool.json', mnemonicFile: '/pool.mnemonic' };
  const remove = writeDevFile(devFacts(stack, { deposits, webhooksToPrivate: true }), path);
  const facts = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  expect(facts).toMatchObject({
    apiUrl: stack.apiUrl,
    apiKey: stack.apiKey,
    apiKeyName: stack.apiKeyName,
    signerKeyFile: stack.signerKeyFile,
    openapiUrl: `${stack.apiUrl}/openapi.json`,
    databaseUrl: stack.databaseUrl,
    temporalAddress: stack.temporal.address,
    rpcUrls: stack.rpcUrls,
    hotWallet: stack.hotWallet,
    deposits,
    webhooksToPrivate: true,
  });
  expect(Object.keys(facts.mints as object)).toEqual(['mint', 'feeMint', 'plantedMint']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain(readFileSync(stack.signerKeyFile, 'utf8'));
  remove();
});

test('the API of the stack checks for undelivered webhooks and raises an alert', async () => {
  const ledger = await openLedger(stack.databaseUrl);
  try {
    const { row } = await ledger.webhooks.put('https://127.0.0.1/', ['deposit.*']);
    const event = { type: 'deposit.final', entity: 'deposit/late', data: {} } as const;
    await ledger.db.transaction().execute((trx) => writeEvent(trx, event));
    await sql`update webhook_event set created_at = created_at - interval '1 hour'`.execute(ledger.db);
    await stack.api.kill('SIGKILL');
    await stack.api.start();
    const open = async () => (await ledger.alerts.list({ open: true, limit: 99 })).rows;
    const lateAlert = expect.objectContaining({ kind: 'webhook_behind', subject: row.id });
    await expect.poll(open, { timeout: 50_000 }).toContainEqual(lateAlert);
  } finally {
    await ledger.close();
  }
});

test('the stack reports and restarts a supervised process that dies, and never restarts a process that it ended', async () => {
  const said: string[] = [];
  const stop = new AbortController();
  const supervising = supervise(processesOf(stack), (line) => said.push(line), stop.signal);
  for (const process of [stack.api, stack.postgres, stack.temporalServer]) {
    await process?.kill('SIGKILL');
    await expect.poll(() => said, { timeout: 120_000 }).toContain(`${process?.name} is running again`);
    expect(said).toContain(
      `${process?.name} ended (SIGKILL); it is restarted; its log is ${process?.logFile}`,
    );
  }
  const list = () =>
    fetch(`${stack.apiUrl}/v1/withdrawals`, { headers: { authorization: `Bearer ${stack.apiKey}` } });
  await expect.poll(async () => (await list()).status, { timeout: 60_000 }).toBe(200);
  stop.abort();
  await supervising;
  await stack.api.kill('SIGKILL');
  expect(stack.api.running).toBe(false);
});

test('supervision only reports a process that restarts without its data', async () => {
  const said: string[] = [];
  const stop = new AbortController();
  const supervising = supervise(processesOf(stack), (line) => said.push(line), stop.signal);
  await stack.chain?.kill('SIGKILL');
  await expect.poll(() => said.join(' '), { timeout: 50_000 }).toContain('all blocks were in its memory');
  stop.abort();
  await supervising;
  expect(stack.chain?.running).toBe(false);
});
