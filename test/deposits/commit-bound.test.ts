import { describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import type { DepositMatcher } from '../../src/deposits/scan/matcher.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { rangeOf } from '../../src/domain/scan.ts';
import { runActivity } from '../support/activity.ts';
import { rpc } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const MOST = 3;
/** The payments of each block in order: one block has more than a commit may have. */
const PAYMENTS = [1, 1, 1, 2, MOST + 2, 1, 2, 2];
const ALL = PAYMENTS.reduce((sum, count) => sum + count, 0);

/** A process that commits no more than {@link MOST} payments at once; `brought`: the payments of each commit. */
function worker() {
  const deps = fixture.deps(fixture.pool, { maxMentions: MOST });
  const match = vi.spyOn(deps.matcher, 'match');
  const brought = async (): Promise<readonly number[]> => {
    const matches = await Promise.all(
      match.mock.results.map(({ value }): ReturnType<DepositMatcher['match']> => value),
    );
    const counts = matches.map(({ blocks }) => blocks.flatMap(({ finding }) => finding.inflows).length);
    return counts.filter((count) => count > 0);
  };
  return { deps, brought };
}

async function pay(wallet: string): Promise<void> {
  const [url = ''] = fixture.localnet.rpcUrls;
  let lamports = 2_000_000;
  for (const count of PAYMENTS) {
    for (let sent = 0; sent < count; sent += 1) {
      await rpc(url, { method: 'requestAirdrop', params: [wallet, lamports] });
      lamports += 1;
    }
    fixture.localnet.controls.produceSlot();
  }
  fixture.finalize();
}

/** Each commit is within the bound, except the commit of the one block that exceeds it. */
function expectBounded(brought: readonly number[]): void {
  expect(brought.filter((count) => count > MOST)).toEqual([MOST + 2]);
  expect(brought.reduce((sum, count) => sum + count, 0)).toBe(ALL);
  expect(brought.length).toBeLessThan(PAYMENTS.length);
}

describe('the size of a commit is bounded', () => {
  it('where the scan follows the chain', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await pay(wallet);
    const { deps, brought } = worker();
    await fixture.scanAll(new DepositScanner(deps));
    expect((await fixture.depositsOf(wallet)).length).toBe(ALL);
    expectBounded(await brought());
    await fixture.chainLength();
  });

  it('where a catch-up stages ranges', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await pay(wallet);
    const { deps, brought } = worker();
    const activities = createDepositRanges({ ...deps, catchUpSlots: 5n });
    const { ranges } = await runActivity(() => activities.planCatchUp());
    for (const range of ranges)
      expect(await runActivity(() => activities.scanRange(range))).toMatchObject({ complete: true });
    await runActivity(() => activities.joinRanges());
    expect((await fixture.depositsOf(wallet)).length).toBe(ALL);
    expectBounded(await brought());
    await fixture.chainLength();
  });

  /** Blocks that paid a wallet before it was watched. */
  async function blocksBefore() {
    await fixture.scanAll(fixture.scanner());
    const { slot: from = 0n } = (await fixture.ledger.scan.cursor()) ?? {};
    const wallet = newAddress();
    await pay(wallet);
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }]);
    const { slot: to = 0n } = (await fixture.ledger.scan.cursor()) ?? {};
    return { wallet, order: { ...rangeOf({ from, to }), actor: 'ops', reason: 'to see' } };
  }

  it('where a rescan reads blocks', async () => {
    const { wallet, order } = await blocksBefore();
    const { deps, brought } = worker();
    await runActivity(() => createDepositRescan(deps).rescan(order));
    expect((await fixture.depositsOf(wallet)).length).toBe(ALL);
    expectBounded(await brought());
  });

  it('where a rescan process dies after each of its commits', async () => {
    const { wallet, order } = await blocksBefore();
    const { backfills } = fixture.ledger;
    const record = backfills.record.bind(backfills);
    let commits = 0;
    const dying = vi.spyOn(backfills, 'record').mockImplementation(async (...commit) => {
      await record(...commit);
      commits += 1;
      throw new Error('killed');
    });
    const rescan = () => {
      const { deps } = worker();
      return runActivity(() => createDepositRescan(deps).rescan(order));
    };
    for (let died = 1; died <= 3; died += 1) {
      await expect(rescan()).rejects.toThrow('killed');
      expect(commits).toBe(died);
    }
    dying.mockRestore();
    const headers = await fixture.ledger.scan.headersBetween(BigInt(order.from), BigInt(order.to));
    expect(await rescan()).toEqual({ blocks: headers.length, found: ALL, unread: [] });
    expect((await fixture.depositsOf(wallet)).length).toBe(ALL);
  });
});
