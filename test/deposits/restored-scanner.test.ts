import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);
afterEach(() => vi.restoreAllMocks());

describe('a scanner that runs during a restore of its database', () => {
  it.each([
    ['as many as were lost', 2],
    ['more than were lost', 3],
  ])('finds deposits to addresses that are imported after the restore, %s', async (_name, fresh) => {
    const { db } = room.ledger;
    await room.newDepositAddress();
    const scanner = new DepositScanner(room.deps(room.pool, { maxAgeMs: 0 }));
    room.finalize();
    await room.scanAll(scanner);
    const backup = await room.ledger.watched.version();
    const lost = [await room.newDepositAddress(), await room.newDepositAddress()];
    room.finalize();
    await room.scanAll(scanner);
    // The paused scanner sends no query, and the backup is restored.
    await room.ledger.scanPauses.begin({ actor: 'ops', reason: 'restore' });
    await expect(scanner.step()).rejects.toThrow('paused');
    await sql`delete from deposit_address where address = any(${lost}::text[])`.execute(db);
    await sql`delete from watched_wallet where address = any(${lost}::text[])`.execute(db);
    await sql`update watch_version set version = ${backup}`.execute(db);
    const wallets: string[] = [];
    while (wallets.length < fresh) wallets.push(await room.newDepositAddress());
    await room.ledger.scanPauses.end({ actor: 'ops', reason: 'restored' });
    for (const wallet of wallets) await room.localnet.airdrop(wallet, 7_000_000n);
    room.finalize();
    // In the first step, the scanner learns that its watch set is of another database.
    await scanner.step().catch(() => undefined);
    await room.scanAll(scanner);
    const arrived = await Promise.all(wallets.map((wallet) => room.depositsOf(wallet)));
    expect(arrived.map((rows) => rows.map(({ amount }) => amount))).toEqual(wallets.map(() => [7_000_000n]));
  });
});

describe('a scanner that another scanner overtakes', () => {
  it('continues from the cursor of the other scanner with its own watch set', async () => {
    const [first, second] = [room.scanner(), room.scanner()];
    for (const scanner of [first, second]) {
      room.finalize();
      await room.scanAll(scanner);
    }
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 7_000_000n);
    room.finalize();
    const { scan, watched } = room.ledger;
    const read = vi.spyOn(watched, 'stream');
    const commit = scan.commit.bind(scan);
    const results: string[] = [];
    vi.spyOn(scan, 'commit').mockImplementation(async (blocks) => {
      if (results.push('begun') === 1) {
        room.finalize();
        await room.scanAll(second);
        room.finalize();
      }
      const result = await commit(blocks);
      results.push(result);
      return result;
    });
    await room.scanAll(first);
    expect(results).toContain('overtaken');
    expect(read).not.toHaveBeenCalled();
    expect(await room.depositsOf(wallet)).toMatchObject([{ amount: 7_000_000n }]);
  });
});
