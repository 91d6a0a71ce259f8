import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Audit } from '../../src/client/client.ts';
import type { DepositRow } from '../../src/ledger/deposit-row.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import { lastWord, runSluice } from '../support/cli.ts';
import { newWallet } from '../support/stack.ts';
import { until } from '../withdrawals/outcomes-support.ts';
import { useStack } from '../withdrawals/use-stack.ts';

// Every command is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 400_000 });

const PATIENCE_MS = 300_000;
const use = useStack(100);
let ledger: Ledger;

beforeAll(async () => {
  ledger = await openLedger(use.stack.databaseUrl);
});
afterAll(() => ledger?.close());

function sluice(...args: readonly string[]) {
  return runSluice(['audit', ...args], {
    env: { SLUICE_API_URL: use.stack.apiUrl, SLUICE_API_KEY: use.stack.apiKey },
  });
}

async function depositsOf(address: string): Promise<readonly DepositRow[]> {
  return (await ledger.deposits.list({ address, limit: 100 })).rows;
}

/** An address with one deposit that is final, behind the cursor. */
async function paid(lamports: number): Promise<DepositRow> {
  // What comes before the scan has begun is not scanned.
  await until(async () => (await ledger.scan.cursor()) !== null, PATIENCE_MS);
  const address = newWallet();
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

test('a credit that is gone from the record is found, and put back once, however often that is asked for', async () => {
  const deposit = await paid(2_000_000);
  const { wallet, signature } = deposit;
  const clean = await sluice(...around(deposit));
  expect(clean).toMatchObject({ code: 0, stdout: expect.stringContaining('chain and record agree') });

  await forget(deposit);
  const told = await sluice(...around(deposit));
  expect(told.code).toBe(6);
  expect(told.stdout).toMatch(
    new RegExp(`^${signature} .*${wallet}  SOL    2000000   -          remains$`, 'm'),
  );
  expect(await depositsOf(wallet)).toEqual([]);

  const difference = { signature, account: wallet, asset: 'SOL', chain: '2000000', record: null };
  const repaired = await sluice(...around(deposit), '--repair', '--json');
  expect({ code: repaired.code, ...(lastWord(repaired) as Audit) }).toMatchObject({
    code: 0,
    state: 'done',
    report: { differences: [{ ...difference, repaired: true }], found: 1, remaining: 0 },
  });
  const again = await sluice(...around(deposit), '--repair', '--json');
  expect({ code: again.code, ...(lastWord(again) as Audit) }).toMatchObject({
    code: 0,
    report: { differences: [], found: 0, transactions: 1 },
  });
  await until(async () => (await depositsOf(wallet)).every(({ state }) => state === 'final'), PATIENCE_MS);
  expect(await depositsOf(wallet)).toMatchObject([{ amount: 2_000_000n, state: 'final' }]);
});

test('what the record has and the chain does not stays, and is told every time', async () => {
  const deposit = await paid(3_000_000);
  const { id, account, wallet, asset, slot, signature } = deposit;
  await ledger.db.updateTable('deposit').set({ amount: 9_000_000n }).where('id', '=', id).execute();
  const forged = {
    signature: 'forged',
    blockhash: 'b',
    time: 1n,
    amount: 5n,
    state: 'final' as const,
    confirmedBy: 'nobody',
  };
  await ledger.db
    .insertInto('deposit')
    .values({ ...forged, account, wallet, asset, slot, finalizedAt: new Date() })
    .execute();
  const repaired = await sluice(...around(deposit), '--repair', '--json');
  expect(repaired.code).toBe(6);
  expect((lastWord(repaired) as Audit).report?.differences).toMatchObject([
    { signature, chain: '3000000', record: '9000000', repaired: false },
    { signature: 'forged', chain: null, record: '5', repaired: false },
  ]);
  const alerts = await ledger.alerts.everRaised('deposit_mismatch', [signature, 'forged', 'none']);
  expect(alerts).toEqual(new Set([signature, 'forged']));
});

test('nothing is audited that is not ours, or not scanned yet', async () => {
  const { wallet } = await paid(4_000_000);
  expect((await sluice(newWallet(), '--from', '1', '--to', '2')).code).toBe(3);
  expect((await sluice(wallet, '--from', '1', '--to', '999999999')).code).toBe(2);
  expect((await sluice(wallet, '--from', '2', '--to', '1')).code).toBe(2);
  const question = { address: wallet, from: '1', to: '2' };
  await expect(use.sluice.audits.get(question)).rejects.toMatchObject({ code: 'NotFound' });
});
