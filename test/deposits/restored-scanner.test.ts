import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
afterEach(() => vi.restoreAllMocks());

describe('a scanner that runs during a restore of its database', () => {
  it.each([
    ['as many as were lost', 2],
    ['more than were lost', 3],
  ])('finds deposits to addresses that are imported after the restore, %s', async (_name, fresh) => {
    const { db } = fixture.ledger;
    await fixture.newDepositAddress();
    const scanner = new DepositScanner(fixture.deps(fixture.pool, { maxAgeMs: 0 }));
    fixture.finalize();
    await fixture.scanAll(scanner);
    const backup = await fixture.ledger.watched.version();
    const lost = [await fixture.newDepositAddress(), await fixture.newDepositAddress()];
    fixture.finalize();
    await fixture.scanAll(scanner);
    // The paused scanner sends no query, and the backup is restored.
    await fixture.ledger.scanPauses.begin({ actor: 'ops', reason: 'restore' });
    await expect(scanner.step()).rejects.toThrow('paused');
    await sql`delete from deposit_address where address = any(${lost}::text[])`.execute(db);
    await sql`delete from watched_wallet where address = any(${lost}::text[])`.execute(db);
    await sql`update watch_version set version = ${backup}`.execute(db);
    const wallets: string[] = [];
    while (wallets.length < fresh) wallets.push(await fixture.newDepositAddress());
    await fixture.ledger.scanPauses.end({ actor: 'ops', reason: 'restored' });
    for (const wallet of wallets) await fixture.localnet.airdrop(wallet, 7_000_000n);
    fixture.finalize();
    // In the first step, the scanner learns that its watch set is of another database.
    await scanner.step().catch(() => undefined);
    await fixture.scanAll(scanner);
    const arrived = await Promise.all(wallets.map((wallet) => fixture.depositsOf(wallet)));
    expect(arrived.map((rows) => rows.map(({ amount }) => amount))).toEqual(wallets.map(() => [7_000_000n]));
  });
});

describe('a scanner that another scanner overtakes', () => {
  it('continues from the cursor of the other scanner with its own watch set', async () => {
    const [first, second] = [fixture.scanner(), fixture.scanner()];
    for (const scanner of [first, second]) {
      fixture.finalize();
      await fixture.scanAll(scanner);
    }
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(wallet, 7_000_000n);
    fixture.finalize();
    const { scan, watched } = fixture.ledger;
    const read = vi.spyOn(watched, 'stream');
    const commit = scan.commit.bind(scan);
    const results: string[] = [];
    vi.spyOn(scan, 'commit').mockImplementation(async (blocks) => {
      if (results.push('begun') === 1) {
        fixture.finalize();
        await fixture.scanAll(second);
        fixture.finalize();
      }
      const result = await commit(blocks);
      results.push(result);
      return result;
    });
    await fixture.scanAll(first);
    expect(results).toContain('overtaken');
    expect(read).not.toHaveBeenCalled();
    expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 7_000_000n }]);
  });
});
