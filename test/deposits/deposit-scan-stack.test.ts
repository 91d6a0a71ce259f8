import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { depositScanWorkflowId } from '../../src/domain/ids.ts';
import type { DepositRow } from '../../src/ledger/deposits/deposit-row.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { ensureDepositScan } from '../../src/platform/temporal/schedules.ts';
import { until } from '../support/until.ts';
import { useStack } from '../withdrawals/use-stack.ts';

const use = useStack();
let ledger: Ledger;

beforeAll(async () => {
  ledger = await openLedger(use.stack.databaseUrl);
});
afterAll(() => ledger?.close());

function status() {
  return use.sluice.scan.status();
}

async function newDepositAddress(): Promise<string> {
  const address = newAddress();
  await ledger.addresses.import([{ address, path: `m/${address}` }]);
  return address;
}

async function pay(address: string, lamports: number): Promise<void> {
  await rpc(use.chain.url, 'requestAirdrop', [address, lamports]);
}

async function depositsOf(address: string): Promise<readonly DepositRow[]> {
  return (await ledger.deposits.list({ address, limit: 100 })).rows;
}

async function credited(address: string): Promise<readonly bigint[]> {
  let rows: readonly DepositRow[] = [];
  await until(async () => {
    rows = await depositsOf(address);
    return rows.length > 0 && rows.every(({ state }) => state === 'final');
  });
  return rows.map(({ amount }) => amount);
}

describe('the deposit scan of a running stack', () => {
  it('starts without a command and finalizes a deposit', async () => {
    // The scan does not search for payments of before its first block, so no address is assigned until then.
    await until(async () => (await ledger.scan.cursor()) !== null);
    const address = await newDepositAddress();
    await pay(address, 2_000_000);
    expect(await credited(address)).toEqual([2_000_000n]);
    await until(async () => (await status()).state === 'tail');
    expect((await status()).cursor).not.toBeNull();
  });

  it('continues in another worker when the scanner is killed', async () => {
    const address = await newDepositAddress();
    await use.stack.worker.kill('SIGKILL');
    await pay(address, 3_000_000);
    await use.stack.worker.start();
    expect(await credited(address)).toEqual([3_000_000n]);
  });

  it('reads nothing while it is paused, in any run, and reads all blocks of the pause afterwards', async () => {
    const address = await newDepositAddress();
    await use.sluice.scan.pause('to see');
    const before = await ledger.scan.cursor();
    await pay(address, 4_000_000);
    await until(async () => (await use.chain.lamports(address)) === 4_000_000);
    await use.temporal.workflow.getHandle(depositScanWorkflowId('localnet')).terminate('lost');
    await ensureDepositScan(use.temporal, 'localnet');
    await until(async () => (await status()).state === 'paused');
    expect(await status()).toMatchObject({ reason: 'to see' });
    expect(await ledger.scan.cursor()).toEqual(before);
    await use.sluice.scan.resume('seen');
    expect(await credited(address)).toEqual([4_000_000n]);
  });

  it('reads a range again on request, and credits no deposit twice', async () => {
    const address = await newDepositAddress();
    await pay(address, 5_000_000);
    expect(await credited(address)).toEqual([5_000_000n]);
    const [deposit] = await depositsOf(address);
    const slot = deposit?.slot ?? 0n;
    await ledger.db
      .deleteFrom('depositEvent')
      .where('depositId', '=', deposit?.id ?? 0n)
      .execute();
    await ledger.db.deleteFrom('deposit').where('wallet', '=', address).execute();
    const range = { from: (slot - 3n).toString(), to: (slot + 3n).toString() };
    await until(async () => ((await ledger.scan.cursor())?.slot ?? 0n) >= slot + 3n);
    await use.sluice.backfills.start({ ...range, reason: 'to see' });
    await use.sluice.backfills.start({ ...range, reason: 'to see' });
    expect(await credited(address)).toEqual([5_000_000n]);
  });

  it('audits an address that was imported with a past, without a command', async () => {
    const address = newAddress();
    const since = (await ledger.scan.cursor())?.slot ?? 0n;
    await pay(address, 6_000_000);
    await until(async () => (await use.chain.lamports(address)) === 6_000_000);
    const paid = (await ledger.scan.cursor())?.slot ?? 0n;
    await until(async () => ((await ledger.scan.cursor())?.slot ?? 0n) > paid + 10n);
    await ledger.addresses.import([{ address, path: 'm/past' }], since);
    await use.temporal.schedule.getHandle('restartUnfinished').trigger();
    expect(await credited(address)).toEqual([6_000_000n]);
    await until(async () => (await ledger.importAudits.listDue(10)).length === 0);
    expect((await ledger.addresses.byAddress(address))?.state).toBe('used');
  });
});
