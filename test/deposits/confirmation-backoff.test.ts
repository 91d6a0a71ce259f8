import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { createDepositScan } from '../../src/deposits/scan/tail.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const SEVERAL_LOOKS = 5;
/** Longer than any machine needs for that many rounds. */
const LONG_SECONDS = 45;

/** The clock of this process does not move, except where a test moves it. */
let now = 0;

beforeEach(async () => {
  now = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  await fixture.scanAll(fixture.scanner());
  await fixture.confirm();
});

afterEach(() => vi.restoreAllMocks());

async function pendingDeposit(): Promise<string> {
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 2_000_000n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return wallet;
}

/** One of two nodes hides every transaction, so that no deposit can be confirmed. */
function hide(): void {
  fixture.localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });
}

/** How many requests the hiding node has received; each round for a deposit sends two. */
function asked(): number {
  return fixture.localnet.controls.faultsMet(1).null ?? 0;
}

it('a deposit that no quorum returns is requested at growing intervals, across the turns of the scan', async () => {
  await pendingDeposit();
  hide();
  const before = asked();
  const looks = vi.spyOn(fixture.ledger.deposits, 'unconfirmed');
  const scan = createDepositScan({ ...fixture.deps(), pollMs: 20 });
  const turn = async () => {
    const turnOf = new MockActivityEnvironment();
    const enough = looks.mock.calls.length + SEVERAL_LOOKS;
    const ending = setInterval(() => void (looks.mock.calls.length >= enough && turnOf.cancel()), 20);
    await turnOf.run(() => scan.scanTail({ seconds: LONG_SECONDS }));
    clearInterval(ending);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(enough);
  };
  await turn();
  expect(asked() - before).toBe(2);
  now += 499;
  await turn();
  expect(asked() - before).toBe(2);
  now += 1;
  await turn();
  expect(asked() - before).toBe(4);
});

it('a new deposit is confirmed at once, while older ones wait', async () => {
  const old = await pendingDeposit();
  hide();
  const confirmer = new DepositConfirmer(fixture.deps());
  expect(await confirmer.confirm()).toBe(0);
  fixture.localnet.controls.clearFaults();
  const fresh = await pendingDeposit();
  expect(await confirmer.confirm()).toBe(1);
  expect((await fixture.depositsOf(fresh))[0]?.state).toBe('final');
  expect((await fixture.depositsOf(old))[0]?.state).toBe('pending');
  now += 500;
  expect(await confirmer.confirm()).toBe(1);
  expect((await fixture.depositsOf(old))[0]?.state).toBe('final');
});

it('the confirmer requests the waiting deposits at once when nodes return one of them again', async () => {
  await pendingDeposit();
  hide();
  const confirmer = new DepositConfirmer(fixture.deps());
  for (const ms of [0, 500, 1_000]) {
    now += ms;
    await confirmer.confirm();
  }
  await pendingDeposit();
  await confirmer.confirm();
  fixture.localnet.controls.clearFaults();
  now += 500;
  expect(await confirmer.confirm()).toBe(2);
});

it('the confirmer stops requests for a deposit that another process has ended', async () => {
  await pendingDeposit();
  hide();
  const confirmer = new DepositConfirmer(fixture.deps());
  await confirmer.confirm();
  fixture.localnet.controls.clearFaults();
  expect(await fixture.confirm()).toBe(1);
  hide();
  const before = asked();
  now += 60_000;
  expect(await confirmer.confirm()).toBe(0);
  expect(asked()).toBe(before);
});

it('a confirmation round reads the asset terms once, and only where a deposit waits', async () => {
  for (let made = 0; made < 3; made += 1) await pendingDeposit();
  const read = vi.spyOn(fixture.ledger.assets, 'list');
  expect(await fixture.confirm()).toBe(3);
  expect(read).toHaveBeenCalledTimes(1);
  expect(await fixture.confirm()).toBe(0);
  expect(read).toHaveBeenCalledTimes(1);
});

it('a confirmation round ends between two pages when its turn ends', async () => {
  await pendingDeposit();
  expect(await new DepositConfirmer(fixture.deps()).confirm(AbortSignal.abort())).toBe(0);
  expect(await fixture.confirm()).toBe(1);
});
