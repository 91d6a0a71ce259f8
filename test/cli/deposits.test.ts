import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { mintsOf } from '../../devkit/localstack/chain.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Asset, Backfill, DepositAddress, DepositEvent, ScanOverview } from '../../src/client/client.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf, startSluice } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { useStack } from '../withdrawals/use-stack.ts';

vi.setConfig({ testTimeout: 400_000 });

const PATIENCE_MS = 300_000;
const WAIT = { timeout: 120_000, interval: 200 };
const use = useStack();

let directory: string;
let ledger: Ledger;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-deposits-'));
  ledger = await openLedger(use.stack.databaseUrl);
});
afterAll(async () => {
  await ledger?.close();
  rmSync(directory, { recursive: true });
});

const surroundings = () => ({
  cwd: directory,
  env: { SLUICE_API_URL: use.stack.apiUrl, SLUICE_API_KEY: use.stack.apiKey },
});
const sluice = (...args: readonly string[]) => callSluice(args, surroundings());
async function asked<T>(...args: readonly string[]): Promise<T> {
  const ended = await sluice(...args, '-o', 'json');
  expect(ended).toMatchObject({ code: 0 });
  return jsonOf(ended) as T;
}

test('addresses made offline are imported and assigned to users, and the API reports their deposits until they are final', async () => {
  expect((await sluice('addresses', 'assign', 'alice')).code).toBe(3);
  await asked('addresses', 'generate', '--count', '3', '--out', 'pool.json');
  const made = JSON.parse(readFileSync(join(directory, 'pool.json'), 'utf8')) as {
    entries: { address: string }[];
  };
  const imported = await sluice('addresses', 'import', 'pool.json');
  expect(imported.stdout).toBe(
    '3 addresses imported, 0 already known; 3 can be assigned\nwarning: 3 deposit addresses are free, fewer than 100: import more\n',
  );
  const { address } = await asked<DepositAddress>('addresses', 'assign', 'alice');
  expect(address).toBe(made.entries[0]?.address);
  expect((await sluice('addresses', 'assign', 'alice')).stdout).toBe(`${address}\n`);

  const following = startSluice(['deposits', 'follow', '--user', 'alice', '-o', 'json'], surroundings());
  await rpc(use.chain.url, 'requestAirdrop', [address, 2_000_000]);
  const events = () =>
    following
      .stdout()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as DepositEvent);
  await expect.poll(() => events().at(-1)?.kind, WAIT).toBe('final');
  for (const { deposit } of events()) expect(deposit).toMatchObject({ wallet: address, amount: '2000000' });
  following.child.kill('SIGINT');
  expect((await following.ended).code).toBe(130);

  const listed = await sluice('deposits', 'list', '--state', 'final');
  expect(listed.stdout).toMatch(/\n\d+ +\d{4}-\S+Z {2}final {2}2000000 +SOL +alice {2}dep_\S+ {2}\S+\n$/);
  const shown = await sluice('addresses', 'get', address);
  expect(shown.stdout).toBe(`${address}  assigned to alice  m/44'/501'/0'/0'\n`);
});

test('sluice shows, pauses and resumes the scan', async () => {
  // The test polls: a run that does not answer in time is reported as silent.
  const status = () => sluice('scan', 'status');
  const tail = /^tail: following the chain\n {2}cursor {2}slot \d+ {2}\S+\n {2}tip {5}slot \d+/;
  await expect.poll(status, WAIT).toMatchObject({ code: 0, stdout: expect.stringMatching(tail) });
  const needless = async () => (await sluice('scan', 'resume', '--reason', 'of nothing')).stdout;
  await expect.poll(needless, WAIT).toMatch(/^tail: /);
  expect(await asked<ScanOverview>('scan', 'pause', '--reason', 'we look at it')).toMatchObject({
    state: 'paused',
    reason: 'we look at it',
    gaps: [],
  });
  const paused = await status();
  expect(paused.stdout).toMatch(
    /^paused by \S+ since \S+Z: we look at it; `sluice scan resume --reason <text>` ends the pause\n/,
  );
  expect(paused.code).toBe(5);
  expect((await sluice('scan', 'pause', '--reason', 'again')).stdout).toMatch(
    /^paused by \S+ since \S+Z: we look at it; /,
  );
  await asked('scan', 'resume', '--reason', 'seen');
  await expect.poll(status, WAIT).toMatchObject({ code: 0, stdout: expect.stringMatching(tail) });
  const { cursor } = jsonOf(await sluice('scan', 'status', '-o', 'json')) as ScanOverview;
  const [from, to] = [String(Number(cursor?.slot) - 5), cursor?.slot ?? ''];
  const range = ['--from', from, '--to', to];
  const started = await sluice('backfill', 'blocks', ...range, '--reason', 'once more');
  expect(started.stdout).toMatch(
    new RegExp(
      `^backfill \\d+ of slots ${from} to ${to} by \\S+ since \\S+Z: workflow backfill/blocks/${from}-${to}; `,
    ),
  );
  const backfills = async () => (await sluice('backfill', 'list')).stdout;
  await expect.poll(backfills, WAIT).toContain(' done ');
  expect(await backfills()).toMatch(/^id +begun +address +from +to +state +blocks +found +by +reason\n/);
  expect(await backfills()).toMatch(
    new RegExp(`\\n\\d+ +\\S+Z +\\(blocks\\) +${from} +${to} +done \\S+Z {2}\\d+ +0 +\\S+ +once more\\n$`),
  );
  expect(
    (await sluice('backfill', 'blocks', '--from', from, '--to', '99999999', '--reason', 'too far')).code,
  ).toBe(3);
  const closing = ['scan', 'close-gap', ...range, '--reason', 'there is none'];
  expect((await sluice(...closing)).code).toBe(2);
  expect((await sluice(...closing, '--yes')).code).toBe(3);
});

test('sluice lists and changes assets', async () => {
  const { mint = '' } = mintsOf(use.stack.chainInfo);
  const put = ['assets', 'set', mint, '--minimum-units', '7', '--deposits', 'off'];
  expect(await asked<Asset>(...put)).toMatchObject({ asset: mint, minimumDeposit: '7', depositsOn: false });
  const decimal = ['assets', 'set', mint, '--minimum', '0.000005'];
  expect(await asked<Asset>(...decimal)).toMatchObject({ minimumDeposit: '5', depositsOn: false });
  const { stdout } = await sluice('assets', 'list');
  expect(stdout).toMatch(
    /^asset +decimals {2}minimum deposit {2}deposits {2}program\nSOL +9 +0\.00089088 +on\n/,
  );
  const freezes = new RegExp(
    `\\nwarning: ${mint}: the freeze authority of the token can freeze .*: \\w{32,44}\\n`,
  );
  expect(stdout).toMatch(freezes);
  const { freezeAuthority } = await asked<Asset>(...put);
  expect(stdout).toContain(freezeAuthority);
  const [wrong, none] = await Promise.all([
    sluice('assets', 'set', mint, '--deposits', 'perhaps'),
    sluice('assets', 'set', use.stack.hotWallet),
  ]);
  expect([wrong.code, none.code]).toEqual([2, 3]);
});

const audit = (...args: readonly string[]) => sluice('backfill', 'address', ...args, '--reason', 'a test');

async function depositsOf(address: string): Promise<readonly DepositRow[]> {
  return (await ledger.deposits.list({ address, limit: 100 })).rows;
}

/** An address with one final deposit behind the cursor. */
async function paid(lamports: number): Promise<DepositRow> {
  // The scan does not read blocks before its start.
  await until(async () => (await ledger.scan.cursor()) !== null, PATIENCE_MS);
  const address = newAddress();
  await ledger.addresses.import([{ address, path: `m/${address}` }]);
  await rpc(use.chain.url, 'requestAirdrop', [address, lamports]);
  await until(async () => (await depositsOf(address)).some(({ state }) => state === 'final'), PATIENCE_MS);
  const [deposit] = await depositsOf(address);
  if (deposit === undefined) throw new Error('it is final');
  return deposit;
}

async function forget({ id }: DepositRow): Promise<void> {
  await ledger.db.deleteFrom('depositEvent').where('depositId', '=', id).execute();
  await ledger.db.deleteFrom('deposit').where('id', '=', id).execute();
}

function around({ wallet, slot }: DepositRow): readonly string[] {
  return [wallet, '--from', String(slot - 2n), '--to', String(slot)];
}

test('an audit finds a credit that is missing in the database, and restores it once, however often it runs', async () => {
  const deposit = await paid(2_000_000);
  const { wallet, signature } = deposit;
  const clean = await audit(...around(deposit));
  expect(clean).toMatchObject({ code: 0, stdout: expect.stringContaining('chain and database agree') });

  await forget(deposit);
  const missing = await audit(...around(deposit));
  expect(missing.code).toBe(6);
  expect(missing.stdout).toMatch(
    new RegExp(`^${signature} .*${wallet}  SOL    2000000   -       remains$`, 'm'),
  );
  expect(await depositsOf(wallet)).toEqual([]);

  const difference = { signature, account: wallet, asset: 'SOL', chain: '2000000', stored: null };
  const repaired = await audit(...around(deposit), '--repair', '-o', 'json');
  expect({ code: repaired.code, ...(jsonOf(repaired) as Backfill) }).toMatchObject({
    code: 0,
    state: 'done',
    report: { differences: [{ ...difference, repaired: true }], found: 1, remaining: 0 },
  });
  const again = await audit(...around(deposit), '--repair', '-o', 'json');
  expect({ code: again.code, ...(jsonOf(again) as Backfill) }).toMatchObject({
    code: 0,
    report: { differences: [], found: 0, transactions: 1 },
  });
  await until(async () => (await depositsOf(wallet)).every(({ state }) => state === 'final'), PATIENCE_MS);
  expect(await depositsOf(wallet)).toMatchObject([{ amount: 2_000_000n, state: 'final' }]);
});

test('an audit keeps a credit that the chain does not have, and reports it every time', async () => {
  const deposit = await paid(3_000_000);
  const { id, account, wallet, asset, slot, signature } = deposit;
  await ledger.db.updateTable('deposit').set({ amount: 9_000_000n }).where('id', '=', id).execute();
  const forged = {
    signature: 'forged',
    blockhash: 'b',
    time: 1n,
    amount: 5n,
    state: 'final' as const,
    confirmedBy: 'no node',
  };
  await ledger.db
    .insertInto('deposit')
    .values({ ...forged, account, wallet, asset, slot, finalizedAt: new Date() })
    .execute();
  const repaired = await audit(...around(deposit), '--repair', '-o', 'json');
  expect(repaired.code).toBe(6);
  expect((jsonOf(repaired) as Backfill).report?.differences).toMatchObject([
    { signature, chain: '3000000', stored: '9000000', repaired: false },
    { signature: 'forged', chain: null, stored: '5', repaired: false },
  ]);
  const alerts = await ledger.alerts.subjectsEverRaised('deposit_mismatch', [signature, 'forged', 'none']);
  expect(alerts).toEqual(new Set([signature, 'forged']));
});

test('an audit refuses an address that is not ours, and a range that is not scanned yet', async () => {
  const { wallet } = await paid(4_000_000);
  expect((await audit(newAddress(), '--from', '1', '--to', '2')).code).toBe(3);
  expect((await audit(wallet, '--from', '1', '--to', '999999999')).code).toBe(3);
  await expect(use.sluice.backfills.get('999999')).rejects.toMatchObject({ code: 'NotFound' });
});
