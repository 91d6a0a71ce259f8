import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../devkit/localstack/ports.ts';
import { NONCE_CREATE } from '../../src/domain/settlement-kinds.ts';
import { requestSettlements } from '../../src/ledger/settlements/settlement-row.ts';
import { deathProof } from '../domain/evidence.ts';
import { API_KEY, openService, type Service } from '../http/service.ts';
import { attempt, PLENTY } from '../ledger/support.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf, runSluice, startSluice } from '../support/cli.ts';
import { bodyOf } from '../support/http.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const terms = ['--asset', 'SOL', '--amount', '1.5', '--to', WALLET];

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
// Starting a process takes seconds on a busy machine.
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

test('withdrawals create prints one JSON object, with the amount in base units', async () => {
  const asked = await sluiceProcess([
    'withdrawals',
    'create',
    '--id',
    'cli-1',
    ...terms,
    '--memo',
    'hello',
    '-o',
    'json',
  ]);
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  expect(jsonOf(asked)).toMatchObject({ id: 'cli-1', amount: '1500000000', memo: 'hello' });
});

test('withdrawals create --wait waits for the final state; an unpaid withdrawal is exit code 4', async () => {
  const waiting = sluiceProcess(['withdrawals', 'create', '--id', 'cli-2', ...terms, '--wait', '-o', 'json']);
  await expect.poll(() => service.ledger.withdrawals.find('cli-2'), { timeout: 120_000 }).toBeDefined();
  await service.ledger.settlements.move('cli-2', 'rejected', { code: 'mint', message: 'it is a mint' });
  const ended = await waiting;
  expect(ended.code).toBe(4);
  expect(ended.stderr).toContain('rejected  it is a mint');
  expect(jsonOf(ended)).toMatchObject({ id: 'cli-2', status: 'rejected' });
});

test('withdrawals get, list and cancel show the stored withdrawal', async () => {
  for (const id of ['cli-3', 'cli-4']) {
    await service.ledger.withdrawals.reserve({
      id,
      asset: 'SOL',
      amount: '1500000000',
      destination: 'CliWa11et',
    });
  }
  const [status, list] = await Promise.all([
    sluice(['withdrawals', 'get', 'cli-3']),
    sluice(['withdrawals', 'list', '--to', 'CliWa11et', '--limit', '1']),
  ]);
  expect(status).toMatchObject({ code: 0 });
  expect(status.stdout).toContain('cli-3  requested\n  pays       1.5 SOL to CliWa11et');
  expect(list.stdout).toMatch(
    /^created +status +id +amount +next\n\S+ {2}requested +cli-4 {2}1\.5 SOL\nMore rows: add --cursor \S+, or raise --limit\n$/,
  );
  const cancelled = await sluice(['withdrawals', 'cancel', 'cli-3', '-o', 'json']);
  expect(jsonOf(cancelled)).toMatchObject({ status: 'cancelled' });
  await service.ledger.alerts.raise({ kind: 'maybe_paid', subject: 'cli-4', message: 'look' });
  const markPaid = ['settlements', 'mark-paid', 'cli-4', '--reason', 'the chain shows it', '-o', 'json'];
  expect(await sluice(markPaid)).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  const paid = await sluice([...markPaid, '--yes']);
  expect(jsonOf(paid)).toMatchObject({ status: 'cancelled', reason: { code: 'paid_already' } });
  const confirmed = await sluice(['withdrawals', 'confirm', 'cli-3', '-o', 'json']);
  expect(confirmed.code).toBe(3);
  expect(jsonOf(confirmed)).toMatchObject({ error: { code: 'NotAwaitingConfirmation' } });
});

test('withdrawals get and list show how to answer a withdrawal that waits for a confirmation', async () => {
  await service.ledger.withdrawals.reserve({
    id: 'cli-6',
    asset: 'SOL',
    amount: '5',
    destination: 'Wa1ting',
  });
  await service.ledger.settlements.move('cli-6', 'awaiting_confirmation');
  const [status, list] = await Promise.all([
    sluice(['withdrawals', 'get', 'cli-6']),
    sluice(['withdrawals', 'list', '--to', 'Wa1ting']),
  ]);
  for (const { stdout } of [status, list])
    expect(stdout).toContain('confirm with: sluice withdrawals confirm cli-6\n');
  await service.ledger.withdrawals.confirmDestination('cli-6');
  expect((await sluice(['withdrawals', 'get', 'cli-6'])).stdout).toContain(
    'confirmed, and continues; see: sluice withdrawals get cli-6\n',
  );
});

test('withdrawals explain names the next step; get shows the proof of a dead attempt in a line', async () => {
  const [id, paused] = ['cli-7', { code: 'paused', message: 'paused: a test' }];
  const { settlements, withdrawals, attempts } = service.ledger;
  await withdrawals.reserve({ id, asset: 'SOL', amount: '5', destination: 'CliWa11et' });
  await attempts.prepare(attempt(id), PLENTY);
  await attempts.storeSignature(id, 1, 'sig');
  const [blind, blindJson] = await Promise.all([
    sluice(['withdrawals', 'explain', id]),
    sluice(['withdrawals', 'explain', id, '-o', 'json']),
  ]);
  expect(blind).toMatchObject({ code: 0, stderr: '' });
  expect(blind.stdout).toContain(`${id}  sending\n  waits for  a block that contains the transaction`);
  expect(blind.stdout).toContain(
    '  attempt 1  signed  sig\n    verdict  unknown: the API has no Solana nodes',
  );
  expect(jsonOf(blindJson)).toMatchObject({ id, attempt: { verdict: 'unknown', evidence: null } });

  await attempts.settle(id, 1, { state: 'dead', proof: { ...deathProof(), ofMessage: deathProof() } });
  await settlements.move(id, 'held', paused);
  const [status, explained] = await Promise.all([
    sluice(['withdrawals', 'get', id]),
    sluice(['withdrawals', 'explain', id]),
  ]);
  const proof = [
    '2 of 2 nodes have finalized a block above its last valid height 1150',
    'no linked block from 2500 to 3000 contains the transaction',
    '2 of 2 nodes do not have the transaction',
  ];
  expect(status.stdout).toContain(`             proof: ${proof.join('; ')}\n`);
  expect(status.stdout).toContain(`             under any other signature: ${proof.join('; ')}\n`);
  expect(explained.stdout).toContain(
    '  reason     paused: a test (paused)\n  next       `sluice settlements resume --reason <text>` ends the pause; `sluice alerts list` shows the pause and the alerts that caused it\n',
  );
  expect(explained.stdout).toContain('  attempt 1  dead  sig\n    verdict  dead\n    blockhash ');
  expect(explained.stdout).toMatch(/^ {4}last valid height 1150; finalized heights: \S+ \d+, \S+ \d+$/m);
  expect(explained.stdout).toMatch(
    /^ {4}blocks 2500 \S+ \(returned by .+\) to 3000 \S+ .+ do not contain its signature$/m,
  );
  expect(explained.stdout).toMatch(/^ {4}statuses: \S+ absent, \S+ absent$/m);
});

test('settlements list and explain show settlements of every kind', async () => {
  const { attempts, alerts, db } = service.ledger;
  const id = 'nonce-create/CliNonce';
  await requestSettlements(db, NONCE_CREATE, ['CliNonce']);
  await attempts.prepare(attempt(id), PLENTY);
  await attempts.storeSignature(id, 1, 'nonce-sig');
  const { position } = await alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look' });
  const [list, json, none, explained] = await Promise.all([
    sluice(['settlements', 'list', '--kind', NONCE_CREATE]),
    sluice(['settlements', 'list', '--signature', 'nonce-sig', '--limit', '1', '-o', 'json']),
    sluice(['settlements', 'list', '--kind', NONCE_CREATE, '--status', 'held']),
    sluice(['settlements', 'explain', id]),
  ]);
  expect(list.stdout).toMatch(/\n\S+ {2}sending +nonce-create {2}nonce-create\/CliNonce {2}nonce-sig\n$/);
  expect(jsonOf(json)).toMatchObject({ settlements: [{ id, kind: NONCE_CREATE, subject: 'CliNonce' }] });
  expect(none.stdout).toBe('no settlements found\n');
  expect(explained).toMatchObject({ code: 0, stderr: '' });
  expect(explained.stdout).toContain(`${id}  sending\n  waits for  a block that contains the transaction`);
  expect(explained.stdout).toContain(`\n  alert ${position}  maybe_paid  look\n`);
  expect(explained.stdout).toContain('\n  attempt 1  signed  nonce-sig\n    verdict  unknown');
});

test('an amount is a decimal with the decimals of the listed asset, or base units', async () => {
  const mint = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
  const create = (id: string, asset: string, ...amount: readonly string[]) =>
    sluice(['withdrawals', 'create', '--id', id, '--asset', asset, '--to', WALLET, ...amount, '-o', 'json']);
  expect(await create('cli-8', mint, '--amount', '1.5')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`--amount needs the decimals of ${mint}, which is not listed`),
  });
  const program = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
  const listing = { program, decimals: 6, extensions: [], minimumDeposit: 1n, depositsOn: true };
  await service.ledger.assets.put({ asset: mint, ...listing });
  expect(jsonOf(await create('cli-9', mint, '--amount', '1.5'))).toMatchObject({ amount: '1500000' });
  expect(jsonOf(await create('cli-10', 'SOL', '--units', '15'))).toMatchObject({ amount: '15' });
  const fine = await create('cli-11', mint, '--amount', '0.0000001');
  expect(jsonOf(fine)).toMatchObject({
    error: { message: `--amount must have at most 6 digits after the point for ${mint}, not 0.0000001` },
  });
  const refused = [
    ['--amount', '1e3'],
    ['--amount', '-1'],
    ['--amount', '0'],
    ['--amount', '1', '--units', '1'],
  ];
  for (const amount of refused) expect((await create('cli-12', 'SOL', ...amount)).code).toBe(2);
});

test('sluice prints no colours into a pipe, not even in CI', async () => {
  const env = { CI: 'true', NO_COLOR: undefined };
  expect((await sluiceProcess(['withdrawals', 'get', 'cli-2'], env)).stdout).toContain('cli-2  rejected\n');
});

test('exit codes distinguish usage errors, refusals and missing objects', async () => {
  const [wrongOption, badAmount, unknown, wrongKey, away, help] = await Promise.all([
    sluiceProcess(['withdrawals', 'create', '--id', 'x', '-o', 'json']),
    sluice(['withdrawals', 'create', '--id', 'x', '--asset', 'SOL', '--units', '1.5', '--to', WALLET]),
    sluiceProcess(['withdrawals', 'get', 'no-such-id']),
    sluice(['withdrawals', 'get', 'no-such-id'], { SLUICE_API_KEY: 'an-unknown-key' }),
    sluice(['keys', 'create', 'bot']),
    sluiceProcess(['--help']),
  ]);
  expect([wrongOption.code, badAmount.code, unknown.code, wrongKey.code, away.code, help.code]).toEqual([
    2, 2, 3, 3, 2, 0,
  ]);
  expect(jsonOf(wrongOption)).toEqual({
    ok: false,
    error: { code: 'UsageError', message: 'missing: --asset, --amount or --units, --to; see --help' },
  });
  expect(unknown.stderr).toContain('no-such-id');
  expect(wrongKey.stderr).toBe(
    'sluice: the API key is unknown; create one with `sluice keys create <name>`\n',
  );
  expect(badAmount.stderr).toContain('amount must be a whole number of base units');
  expect(away.stderr).toContain('DATABASE_URL');
});

test('commands that end a key or an attempt change nothing without --yes', async () => {
  const { ledger } = service;
  const create = (...more: string[]) =>
    sluice(['keys', 'create', 'bot', ...more], { DATABASE_URL: service.databaseUrl });
  const first = (await create()).stdout.trim();
  expect(await create()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('add --yes') });
  expect(await ledger.apiKeys.nameOf(first)).toBe('bot');
  const second = (await create('--yes')).stdout.trim();
  expect(await Promise.all([first, second].map((key) => ledger.apiKeys.nameOf(key)))).toEqual([null, 'bot']);

  const advance = await sluice(['nonces', 'advance', 'cli-2'], { DATABASE_URL: service.databaseUrl });
  expect(advance).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
});

test('the help of every command names its requirements', async () => {
  const [all, one] = await Promise.all([sluice(['--help']), sluice(['keys', '--help'])]);
  const [, ...groups] = all.stdout.split(/^Needs /m);
  const named = groups.map((text) => [
    text.split('\n')[0],
    [...text.matchAll(/^ {2}([a-z][a-z0-9]*)/gm)].map(([, command]) => command),
  ]);
  expect(named).toEqual([
    [
      'the API (--url or SLUICE_API_URL, --api-key or SLUICE_API_KEY):',
      expect.arrayContaining(['withdrawals', 'settlements', 'alerts', 'scan']),
    ],
    ['PostgreSQL (DATABASE_URL):', ['keys', 'nonces']],
    ['the Solana nodes (SLUICE_RPC_URLS):', ['nodes']],
    ['a local file or a URL, named by an argument or a setting:', ['x402', 'help']],
  ]);
  expect(one.stdout).toContain('\nNeeds PostgreSQL (DATABASE_URL).\n');
});

test('an unreachable API is exit code 5', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const ended = await sluiceProcess(['withdrawals', 'get', 'cli-1'], { SLUICE_API_URL: `http://${address}` });
  expect(ended.code).toBe(5);
  expect(ended.stderr).toContain(`no answer from http://${address}: connect ECONNREFUSED ${address}`);
});

test('withdrawals create --wait reports an API that stops responding, keeps waiting, and can be interrupted', async () => {
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
  const running = startSluice(['withdrawals', 'create', '--id', 'cli-5', ...terms, '--wait', '-o', 'json'], {
    cwd: directory,
    env: { SLUICE_API_URL: `http://127.0.0.1:${port}` },
  });
  await expect.poll(() => running.stderr(), { timeout: 120_000 }).toContain('trying again');
  running.child.kill('SIGINT');
  const ended = await running.ended;
  proxy.close();
  expect(ended.code).toBe(130);
  expect(jsonOf(ended)).toMatchObject({ ok: false, error: { code: 'Interrupted' } });
  expect(ended.stderr).toContain('the withdrawal continues, see: sluice withdrawals get cli-5');
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
