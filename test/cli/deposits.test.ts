import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Asset, DepositAddress, DepositEvent, ScanOverview } from '../../src/client/client.ts';
import { mintsOf } from '../../src/localstack/chain.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import { lastWord, runSluice, startSluice } from '../support/cli.ts';
import { useStack } from '../withdrawals/use-stack.ts';

// Every command is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const WAIT = { timeout: 120_000, interval: 200 };
const use = useStack(100);

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-deposits-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const surroundings = () => ({
  cwd: directory,
  env: { SLUICE_API_URL: use.stack.apiUrl, SLUICE_API_KEY: use.stack.apiKey },
});
const sluice = (...args: readonly string[]) => runSluice(args, surroundings());
async function asked<T>(...args: readonly string[]): Promise<T> {
  const ended = await sluice(...args, '--json');
  expect(ended).toMatchObject({ code: 0 });
  return lastWord(ended) as T;
}

test('addresses made offline are imported, given to users, and what they are paid is told as it becomes final', async () => {
  expect((await sluice('addresses', 'assign', 'alice')).code).toBe(5);
  await asked('addresses', 'generate', '--count', '3', '--out', 'pool.json');
  const made = JSON.parse(readFileSync(join(directory, 'pool.json'), 'utf8')) as {
    entries: { address: string }[];
  };
  const imported = await sluice('addresses', 'import', 'pool.json');
  expect(imported.stdout).toBe(
    '3 imported, 0 known before; 3 are free\nwarning: 3 deposit addresses are free, fewer than 100: import more\n',
  );
  const { address } = await asked<DepositAddress>('addresses', 'assign', 'alice');
  expect(address).toBe(made.entries[0]?.address);
  expect((await sluice('addresses', 'assign', 'alice')).stdout).toBe(`${address}\n`);

  const following = startSluice(['deposits', '--follow', '--user', 'alice', '--json'], surroundings());
  await rpc(use.chain.url, 'requestAirdrop', [address, 2_000_000]);
  const told = () =>
    following
      .stdout()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as DepositEvent);
  await expect.poll(() => told().at(-1)?.kind, WAIT).toBe('final');
  for (const { deposit } of told()) expect(deposit).toMatchObject({ wallet: address, amount: '2000000' });
  following.child.kill('SIGINT');
  expect((await following.ended).code).toBe(130);

  const listed = await sluice('deposits', '--state', 'final');
  expect(listed.stdout).toMatch(/\n\d+ +\d{4}-\S+Z {2}final {2}2000000 +SOL +alice {2}dep_\S+ {2}\S+\n$/);
  const shown = await sluice('addresses', 'show', address);
  expect(shown.stdout).toBe(`${address}  assigned to alice  m/44'/501'/0'/0'\n`);
});

test('the scan is looked at, paused and resumed', async () => {
  // Polled, as a run that does not answer in time is told as silent.
  const status = () => sluice('scan', 'status');
  const tail = /^tail: following the chain\n {2}cursor {2}slot \d+ {2}\S+\n {2}tip {5}slot \d+/;
  await expect.poll(status, WAIT).toMatchObject({ code: 0, stdout: expect.stringMatching(tail) });
  const needless = async () => (await sluice('scan', 'resume', 'of nothing')).stdout;
  await expect.poll(needless, WAIT).toMatch(/^it was not paused; it stands so:\ntail: /);
  expect(await asked<ScanOverview>('scan', 'pause', 'we look at it')).toMatchObject({
    state: 'paused',
    why: 'we look at it',
    gaps: [],
  });
  const paused = await status();
  expect(paused.stdout).toMatch(
    /^paused by \S+ since \S+Z: we look at it; `sluice scan resume <why>` ends it\n/,
  );
  expect(paused.code).toBe(5);
  expect((await sluice('scan', 'pause', 'again')).stdout).toMatch(
    /^it was paused already, and that pause stays as it was:\npaused by \S+ since \S+Z: we look at it; `sluice scan resume <why>` ends it\n/,
  );
  await asked('scan', 'resume', 'seen');
  await expect.poll(status, WAIT).toMatchObject({ code: 0, stdout: expect.stringMatching(tail) });
  const { cursor } = lastWord(await sluice('scan', 'status', '--json')) as ScanOverview;
  const [from, to] = [String(Number(cursor?.slot) - 5), cursor?.slot ?? ''];
  const told = await sluice('scan', 'rescan', from, to, 'once more');
  expect(told.stdout).toMatch(
    new RegExp(`^rescan of ${from} to ${to} by \\S+ since \\S+Z: workflow deposit-rescan/${from}-${to}\\n`),
  );
  const rescans = async () => (await sluice('scan', 'rescans')).stdout;
  await expect.poll(rescans, WAIT).toContain(' done ');
  expect(await rescans()).toMatch(/^begun +from +to +state +blocks +found +asked for by\n/);
  expect(await rescans()).toMatch(
    new RegExp(`\\n\\S+Z +${from} +${to} +done \\S+Z {2}\\d+ +0 +\\S+: once more\\n$`),
  );
  expect((await sluice('scan', 'rescan', from, '99999999', 'too far')).code).toBe(2);
  expect((await sluice('scan', 'close-gap', from, to, 'there is none')).code).toBe(3);
});

test('assets are listed, and changed', async () => {
  const { mint = '' } = mintsOf(use.stack.chainInfo);
  const put = ['assets', 'put', mint, '--minimum', '5', '--deposits', 'off'];
  expect(await asked<Asset>(...put)).toMatchObject({ asset: mint, minimumDeposit: '5', depositsOn: false });
  const { stdout } = await sluice('assets');
  expect(stdout).toMatch(
    /^asset +decimals {2}minimum \(base units\) {2}deposits {2}program\nSOL +9 +890880 +on\n/,
  );
  expect(stdout).toContain(mint);
  const [wrong, none] = await Promise.all([
    sluice('assets', 'put', mint, '--deposits', 'perhaps'),
    sluice('assets', 'put', use.stack.hotWallet),
  ]);
  expect([wrong.code, none.code]).toEqual([2, 3]);
});
