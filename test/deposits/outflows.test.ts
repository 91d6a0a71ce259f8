import { expect, it } from 'vitest';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { rangeOf } from '../../src/domain/scan.ts';
import { environmentOfRun } from '../support/activity.ts';
import { openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
/** The recorded outflows of a transfer of 9,000,000 whose sender pays the fee. */
const SWEPT = 9_005_000n;

async function outflowsOf(wallet: string): Promise<readonly bigint[]> {
  const rows = await fixture.ledger.db
    .selectFrom('outflow')
    .select('amount')
    .where('wallet', '=', wallet)
    .execute();
  return rows.map(({ amount }) => amount);
}

async function differences(): Promise<readonly string[]> {
  await reconcileIn(fixture);
  return openAlertsIn(fixture, 'balance_difference');
}

it('an outflow that one node invents is a difference of balances until a rescan replaces it', async () => {
  const ours = await fixture.newSigner(1_000_000_000n);
  const from = ours.publicKey.toBase58();
  const to = await fixture.newDepositAddress();
  const before = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  await fixture.sweep(ours, to, 9_000_000n);
  await fixture.scanWithLie('mirrored');
  expect(await outflowsOf(to)).toEqual([9_000_000n]);
  expect((await differences()).toSorted()).toEqual([`${from}/SOL`, `${to}/SOL`].toSorted());
  const range = { from: before + 1n, to: (await fixture.ledger.scan.cursor())?.slot ?? 0n };
  const note = { actor: 'ops', reason: 'balance_difference' };
  const order = { ...rangeOf(range), ...note };
  await environmentOfRun().run(() => createDepositRescan(fixture.deps()).rescan(order));
  expect([await outflowsOf(from), await outflowsOf(to)]).toEqual([[SWEPT], []]);
  const [invented] = await fixture.depositsOf(from);
  if (invented === undefined) throw new Error('the lie leaves no deposit');
  await fixture.ledger.rejections.reject({ row: invented, ...note, deniedBy: ['b', 'c'] });
  expect(await differences()).toEqual([]);
});
