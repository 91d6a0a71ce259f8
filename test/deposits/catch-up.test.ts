import { describe, expect, it } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import type { CatchUpRange } from '../../src/domain/scan.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { runActivity } from '../support/activity.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

/** A separate worker, which reads ranges once the scan is some blocks behind. */
function worker() {
  const activities = createDepositRanges({ ...fixture.deps(), catchUpSlots: 10n, rangeBlocks: 8 });
  return {
    plan: async () => (await runActivity(() => activities.planCatchUp())).ranges,
    tryToPlan: () => runActivity(() => activities.planCatchUp()),
    read: (range: CatchUpRange) => runActivity(() => activities.scanRange(range)),
    join: () => runActivity(() => activities.joinRanges()),
  };
}

async function payments(wallet: string, count: number): Promise<readonly bigint[]> {
  const amounts = Array.from({ length: count }, (_, index) => BigInt(2_000_000 + index));
  for (const amount of amounts) await fixture.localnet.airdrop(wallet, amount);
  fixture.finalize();
  return amounts;
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  const rows = await fixture.depositsOf(wallet);
  return rows.map(({ amount }) => amount).toSorted((a, b) => Number(a - b));
}

describe('a scan that is far behind', () => {
  it('catches up with ranges that two workers read in any order, and credits each deposit once', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const amounts = await payments(wallet, 12);
    const [one, other] = [worker(), worker()];
    const ranges = await one.plan();
    expect(ranges.length).toBeGreaterThan(2);
    await Promise.all(ranges.toReversed().map((range, index) => (index % 2 ? one : other).read(range)));
    expect(await amountsOf(wallet)).toEqual([]);
    expect(await other.plan()).toEqual([]);
    const joins = await Promise.all([one.join(), other.join()]);
    expect(joins[0]?.status?.cursor?.slot).toBe(ranges.at(-1)?.to);
    expect(await amountsOf(wallet)).toEqual(amounts);
    await fixture.chainLength();
  });

  it('credits no user with a payment of before the address was assigned', async () => {
    const { addresses, alerts, scanPauses } = fixture.ledger;
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const [before = 0n] = await payments(wallet, 1);
    fixture.finalize(20);
    // The scan reads nothing meanwhile, and still learns the tip of the chain.
    await scanPauses.begin({ actor: 'ops', reason: 'to fall behind' });
    await worker().tryToPlan();
    while ((await addresses.byAddress(wallet))?.state === 'free')
      await addresses.assign(`user-${newAddress()}`);
    const userRef = (await addresses.byAddress(wallet))?.userRef;
    await scanPauses.end({ actor: 'ops', reason: 'seen' });
    await fixture.localnet.airdrop(wallet, 9_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await fixture.confirm();
    const deposits = await fixture.depositsOf(wallet);
    expect(deposits.map((one) => [one.amount, one.state, one.userRef])).toEqual([
      [9_000_000n, 'final', userRef],
      [before, 'final', null],
    ]);
    expect(await fixture.ledger.deposits.list({ userRef: userRef ?? '', limit: 9 })).toMatchObject({
      rows: [{ amount: 9_000_000n }],
    });
    const [unowned] = deposits.flatMap((one) => (one.userRef === null ? depositId(one) : []));
    expect(await alerts.close('deposit_unowned', unowned ?? '')).toBe(true);
  });

  it('joins ranges only as far as they link, and reads the rest again (private-channels #129 and #145)', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const amounts = await payments(wallet, 12);
    const first = worker();
    const ranges = await first.plan();
    const [, lost] = ranges;
    for (const range of ranges) if (range !== lost) await first.read(range);
    const { status } = await first.join();
    expect(status?.cursor?.slot).toBe(ranges[0]?.to);
    await fixture.scanAll(fixture.scanner());
    expect(await amountsOf(wallet)).toEqual(amounts);
    expect((await first.join()).joined).toBe(0);
    await fixture.chainLength();
  });

  it.each([700, 3_000])(
    'plans ranges equally far ahead although no node lists more than %i slots at once',
    async (slots) => {
      await fixture.scanAll(fixture.scanner());
      const wallet = await fixture.newDepositAddress();
      const amounts = await payments(wallet, 12);
      const { controls } = fixture.localnet;
      controls.skipSlots(6_000);
      fixture.finalize(12);
      for (const node of [0, 1]) controls.setFault(node, '*', { kind: 'list-limit', slots });
      const one = worker();
      const ranges = await one.plan();
      expect(ranges.at(-1)?.to).toBe(controls.chain.at('finalized').slot.toString());
      for (const range of ranges) await one.read(range);
      expect((await one.join()).status?.cursor?.slot).toBe(ranges.at(-1)?.to);
      expect(await amountsOf(wallet)).toEqual(amounts);
      await fixture.chainLength();
    },
  );

  it('stages the range of a dead worker again, and finds the deposits of an address that was added meanwhile', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const amounts = await payments(wallet, 8);
    const dead = worker();
    const ranges = await dead.plan();
    for (const range of ranges) await dead.read(range);
    const late = await fixture.newDepositAddress();
    const alive = worker();
    for (const range of ranges) await alive.read(range);
    await alive.join();
    expect(await amountsOf(wallet)).toEqual(amounts);
    await fixture.localnet.airdrop(late, 7_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    expect(await amountsOf(late)).toEqual([7_000_000n]);
  });
});

describe('a catch-up that is blocked', () => {
  const refusal = { kind: 'error', code: -32015, message: 'version 7' } as const;
  const setFault = (method: string, fault: Fault) => {
    for (const node of [0, 1]) fixture.localnet.controls.setFault(node, method, fault);
  };
  const openAlerts = async () =>
    (await fixture.ledger.alerts.list({ open: true, limit: 10 })).rows.map(({ kind }) => kind);

  it('returns its reason and does not throw, so that the workflow can report it', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    const amounts = await payments(wallet, 12);
    const one = worker();
    const [range] = await one.plan();
    if (range === undefined) throw new Error('nothing to read');
    setFault('*', { kind: 'http', status: 503 });
    const reason = expect.stringMatching(/./);
    expect(await one.tryToPlan()).toEqual({ behind: false, ranges: [], reason });
    expect(await one.read(range)).toMatchObject({ complete: false });
    expect(await one.join()).toEqual({ joined: 0, status: null, reason });
    fixture.localnet.controls.clearFaults();
    setFault('getBlock', refusal);
    expect(await one.read(range)).toMatchObject({ complete: false });
    fixture.localnet.controls.clearFaults();
    expect(await one.read(range)).toEqual({ complete: true, reason: null });
    await fixture.scanAll(fixture.scanner());
    expect(await amountsOf(wallet)).toEqual(amounts);
  });

  it('closes its alert when it continues', async () => {
    await fixture.scanAll(fixture.scanner());
    await payments(await fixture.newDepositAddress(), 12);
    const one = worker();
    const ranges = await one.plan();
    await fixture.ledger.alerts.raise({
      kind: 'scan_stopped',
      subject: 'sluice',
      message: 'the scan stopped',
    });
    expect((await one.join()).joined).toBe(0);
    expect(await openAlerts()).toEqual(['scan_stopped']);
    for (const range of ranges) await one.read(range);
    expect((await one.join()).joined).toBeGreaterThan(0);
    expect(await openAlerts()).toEqual([]);
  });
});
