import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { NONCE_CREATE } from '../../src/domain/nonce-settlements.ts';
import { requestSettlements } from '../../src/ledger/settlement-row.ts';
import { freePort } from '../../src/localstack/ports.ts';
import { deathEvidence } from '../domain/evidence.ts';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { attempt, PLENTY } from '../ledger/support.ts';
import { callSluice } from '../support/call-sluice.ts';
import { lastWord, runSluice, startSluice } from '../support/cli.ts';
import { bodyOf } from '../support/http.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const terms = ['--asset', 'SOL', '--amount', '1500000000', '--to', WALLET];

let service: Service;
let directory: string;
let apiUrl: string;

beforeAll(async () => {
  service = await openService();
  apiUrl = await service.app.listen({ host: '127.0.0.1', port: 0 });
  directory = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  mkdirSync(join(directory, '.sluice'));
  writeFileSync(join(directory, '.sluice/dev.json'), JSON.stringify({ apiUrl, apiKey: API_KEY }));
});
// A process takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
afterAll(async () => {
  await service?.close();
  if (directory !== undefined) rmSync(directory, { recursive: true });
});

/** Runs the command inside this process, in a directory with a `.sluice/dev.json`. */
const sluice = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  callSluice(args, { cwd: directory, env });

/** Runs the same command as a process of its own. */
const sluiceProcess = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runSluice(args, { cwd: directory, env });

test('withdraw asks, and prints one JSON object', async () => {
  const asked = await sluiceProcess(['withdraw', '--id', 'cli-1', ...terms, '--memo', 'hello', '--json']);
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  expect(lastWord(asked)).toMatchObject({ id: 'cli-1', amount: '1500000000', memo: 'hello' });
});

test('withdraw --wait follows to the end; unpaid is exit code 4', async () => {
  const waiting = sluiceProcess(['withdraw', '--id', 'cli-2', ...terms, '--wait', '--json']);
  await expect.poll(() => service.ledger.withdrawals.find('cli-2'), { timeout: 120_000 }).toBeDefined();
  await service.ledger.settlements.move('cli-2', 'rejected', { code: 'mint', message: 'it is a mint' });
  const ended = await waiting;
  expect(ended.code).toBe(4);
  expect(ended.stderr).toContain('rejected  it is a mint');
  expect(lastWord(ended)).toMatchObject({ id: 'cli-2', status: 'rejected' });
});

test('status, list and cancel show what is on record', async () => {
  for (const id of ['cli-3', 'cli-4']) {
    await service.ledger.withdrawals.reserve({
      id,
      asset: 'SOL',
      amount: '1500000000',
      destination: 'CliWa11et',
    });
  }
  const [status, list] = await Promise.all([
    sluice(['status', 'cli-3']),
    sluice(['list', '--to', 'CliWa11et', '--limit', '1']),
  ]);
  expect(status).toMatchObject({ code: 0 });
  expect(status.stdout).toContain('cli-3  requested\n  pays       1.5 SOL to CliWa11et');
  expect(list.stdout).toMatch(/^\S+ {2}requested +cli-4 {2}1\.5 SOL\n$/);
  const cancelled = await sluice(['cancel', 'cli-3', '--json']);
  expect(lastWord(cancelled)).toMatchObject({ status: 'cancelled' });
  await service.ledger.alerts.raise({ kind: 'maybe_paid', subject: 'cli-4', message: 'look' });
  const paid = await sluice(['paid', 'cli-4', 'the chain shows it', '--json']);
  expect(lastWord(paid)).toMatchObject({ status: 'cancelled', reason: { code: 'paid_already' } });
  const confirmed = await sluice(['confirm', 'cli-3', '--json']);
  expect(confirmed.code).toBe(3);
  expect(lastWord(confirmed)).toMatchObject({ error: { code: 'NotAwaitingConfirmation' } });
});

test('status and list say how to answer one that waits for a confirmation', async () => {
  await service.ledger.withdrawals.reserve({
    id: 'cli-6',
    asset: 'SOL',
    amount: '5',
    destination: 'Wa1ting',
  });
  await service.ledger.settlements.move('cli-6', 'awaiting_confirmation');
  const [status, list] = await Promise.all([
    sluice(['status', 'cli-6']),
    sluice(['list', '--to', 'Wa1ting']),
  ]);
  for (const { stdout } of [status, list]) expect(stdout).toContain('answer with: sluice confirm cli-6\n');
  await service.ledger.withdrawals.confirmDestination('cli-6');
  expect((await sluice(['status', 'cli-6'])).stdout).toContain(
    'confirmed, and goes on; see: sluice status cli-6\n',
  );
});

test('explain says what comes next; status shows the proof of a dead attempt in a line', async () => {
  const [id, paused] = ['cli-7', { code: 'paused', message: 'paused: a test' }];
  const { settlements, withdrawals, attempts } = service.ledger;
  await withdrawals.reserve({ id, asset: 'SOL', amount: '5', destination: 'CliWa11et' });
  await attempts.prepare(attempt(id), PLENTY);
  await attempts.storeSignature(id, 1, 'sig');
  const [blind, blindJson] = await Promise.all([sluice(['explain', id]), sluice(['explain', id, '--json'])]);
  expect(blind).toMatchObject({ code: 0, stderr: '' });
  expect(blind.stdout).toContain(`${id}  sending\n  waits for  a block that carries the transaction`);
  expect(blind.stdout).toContain('  attempt 1  signed  sig\n    verdict  unknown: this API knows no nodes');
  expect(lastWord(blindJson)).toMatchObject({ id, attempt: { verdict: 'unknown', evidence: null } });

  await attempts.settle(id, 1, { state: 'dead', proof: { ...deathEvidence(), ofMessage: deathEvidence() } });
  await settlements.move(id, 'held', paused);
  const [status, explained] = await Promise.all([sluice(['status', id]), sluice(['explain', id])]);
  const proof = [
    '2 of 2 nodes are final above its last height 1150',
    'no linked block from 2500 to 3000 holds it',
    '2 of 2 nodes have no trace of it',
  ];
  expect(status.stdout).toContain(`             proof: ${proof.join('; ')}\n`);
  expect(status.stdout).toContain(`             under any other signature: ${proof.join('; ')}\n`);
  expect(explained.stdout).toContain(
    '  reason     paused: a test (paused)\n  next       `sluice resume <why>` ends the pause; `sluice alerts` shows it, and the alerts that hold it\n',
  );
  expect(explained.stdout).toContain('  attempt 1  dead  sig\n    verdict  dead\n    blockhash ');
  expect(explained.stdout).toMatch(/^ {4}last height 1150; finalized heights: \S+ \d+, \S+ \d+$/m);
  expect(explained.stdout).toMatch(
    /^ {4}blocks 2500 \S+ \(shown by .+\) to 3000 \S+ .+ lack its signature$/m,
  );
  expect(explained.stdout).toMatch(/^ {4}statuses: \S+ absent, \S+ absent$/m);
});

test('settlements and explain show what is no withdrawal, too', async () => {
  const { attempts, alerts, db } = service.ledger;
  const id = 'nonce-create/CliNonce';
  await requestSettlements(db, NONCE_CREATE, ['CliNonce']);
  await attempts.prepare(attempt(id), PLENTY);
  await attempts.storeSignature(id, 1, 'nonce-sig');
  const { position } = await alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look' });
  const [list, json, none, explained] = await Promise.all([
    sluice(['settlements', '--kind', NONCE_CREATE]),
    sluice(['settlements', '--signature', 'nonce-sig', '--limit', '1', '--json']),
    sluice(['settlements', '--kind', NONCE_CREATE, '--status', 'held']),
    sluice(['explain', id]),
  ]);
  expect(list.stdout).toMatch(/^\S+ {2}sending +nonce-create {2}nonce-create\/CliNonce {2}nonce-sig\n$/);
  expect(lastWord(json)).toMatchObject({ settlements: [{ id, kind: NONCE_CREATE, subject: 'CliNonce' }] });
  expect(none.stdout).toBe('no settlement matches\n');
  expect(explained).toMatchObject({ code: 0, stderr: '' });
  expect(explained.stdout).toContain(`${id}  sending\n  waits for  a block that carries the transaction`);
  expect(explained.stdout).toContain(`\n  alert ${position}  maybe_paid  look\n`);
  expect(explained.stdout).toContain('\n  attempt 1  signed  nonce-sig\n    verdict  unknown');
});

test('a pipe gets no colours, the pipe of a CI neither', async () => {
  const env = { CI: 'true', NO_COLOR: undefined };
  expect((await sluiceProcess(['status', 'cli-2'], env)).stdout).toContain('cli-2  rejected\n');
});

test('exit codes tell usage, refusal and absence apart', async () => {
  const [wrongOption, badAmount, unknown, wrongKey, away, help] = await Promise.all([
    sluiceProcess(['withdraw', '--id', 'x', '--json']),
    sluice(['withdraw', '--id', 'x', '--asset', 'SOL', '--amount', '1.5', '--to', WALLET]),
    sluiceProcess(['status', 'nobody']),
    sluice(['status', 'nobody'], { SLUICE_API_KEY: 'a-key-of-nobody-at-all' }),
    sluice(['keys', 'create', 'bot']),
    sluiceProcess(['--help']),
  ]);
  expect([wrongOption.code, badAmount.code, unknown.code, wrongKey.code, away.code, help.code]).toEqual([
    2, 2, 3, 3, 2, 0,
  ]);
  expect(lastWord(wrongOption)).toEqual({
    ok: false,
    error: { code: 'UsageError', message: 'missing: --asset, --amount, --to; see --help' },
  });
  expect(unknown.stderr).toContain('nobody');
  expect(wrongKey.stderr).toBe('sluice: the API key is not known\n');
  expect(badAmount.stderr).toContain('amount must be a whole number of base units');
  expect(away.stderr).toContain('DATABASE_URL');
});

test('the help says of every command what it needs', async () => {
  const [all, one] = await Promise.all([sluice(['--help']), sluice(['pause', '--help'])]);
  const [, ...groups] = all.stdout.split(/^Needs /m);
  const named = groups.map((text) => [
    text.split('\n')[0],
    [...text.matchAll(/^ {2}([a-z][a-z0-9]*)/gm)].map(([, command]) => command),
  ]);
  expect(named).toEqual([
    ['the API (SLUICE_API_URL, SLUICE_API_KEY):', expect.arrayContaining(['withdraw', 'deposits', 'scan'])],
    [
      'PostgreSQL (DATABASE_URL), and works while the API is down:',
      expect.arrayContaining(['alerts', 'keys']),
    ],
    ['the Solana nodes (SLUICE_RPC_URLS):', ['nodes']],
    ['a routes file:', ['x402', 'help']],
  ]);
  expect(one.stdout).toContain('\nNeeds PostgreSQL (DATABASE_URL), and works while the API is down.\n');
});

test('an API that is away is exit code 5', async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  const ended = await sluiceProcess(['status', 'cli-1'], { SLUICE_API_URL: `http://${nobody}` });
  expect(ended.code).toBe(5);
  expect(ended.stderr).toContain(`no answer from http://${nobody}: connect ECONNREFUSED ${nobody}`);
});

test('withdraw --wait tells of an API that falls silent, waits on, and can be interrupted', async () => {
  const proxy = createServer((request, response) => {
    const answer = request.method === 'POST' ? forward(request, apiUrl) : undefined;
    if (answer === undefined) request.socket.destroy();
    else
      answer.then(
        (text) => response.writeHead(202).end(text),
        () => response.destroy(),
      );
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const running = startSluice(['withdraw', '--id', 'cli-5', ...terms, '--wait', '--json'], {
    cwd: directory,
    env: { SLUICE_API_URL: `http://127.0.0.1:${port}` },
  });
  await expect.poll(() => running.stderr(), { timeout: 120_000 }).toContain('asking on');
  running.child.kill('SIGINT');
  const ended = await running.ended;
  proxy.close();
  expect(ended.code).toBe(130);
  expect(lastWord(ended)).toMatchObject({ ok: false, error: { code: 'Interrupted' } });
  expect(ended.stderr).toContain('the withdrawal goes on, see: sluice status cli-5');
});

/** Hands one request on to the real API. */
async function forward(request: IncomingMessage, to: string): Promise<string> {
  const body = new Uint8Array(await bodyOf(request));
  const answer = await fetch(`${to}${request.url}`, {
    method: 'POST',
    headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
    body,
  });
  return answer.text();
}
