import { describe, expect, it } from 'vitest';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture();

describe('the scan of a real chain', () => {
  it('credits SOL and tokens once, pending until a second node has confirmed them', async () => {
    const scanner = room.scanner();
    await room.scanAll(scanner);
    const wallet = await room.newDepositAddress();
    const { mint } = room.localnet;
    await room.localnet.airdrop(wallet, 5_000_000_000n);
    await room.localnet.mintTo(mint.address, wallet, 12_500_000n);
    await room.scanAll(scanner);
    const pending = await room.depositsOf(wallet);
    expect(pending.map(({ asset, amount, state }) => ({ asset, amount, state }))).toEqual([
      { asset: mint.address, amount: 12_500_000n, state: 'pending' },
      { asset: 'SOL', amount: 5_000_000_000n, state: 'pending' },
    ]);
    expect(pending[0]?.account).toBe(deriveAta(wallet, mint.address, TOKEN_PROGRAM));
    expect(await room.confirm()).toBe(2);
    expect((await room.depositsOf(wallet)).map(({ state }) => state)).toEqual(['final', 'final']);
    const { events } = await room.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'pending', 'final', 'final']);
  });

  it('continues where another process stopped, over skipped slots', async () => {
    const wallet = await room.newDepositAddress();
    room.localnet.controls.skipSlots(7);
    await room.localnet.airdrop(wallet, 3_000_000n);
    room.localnet.controls.skipSlots(3);
    await room.localnet.airdrop(wallet, 4_000_000n);
    room.finalize();
    await room.scanAll(room.scanner());
    expect((await room.depositsOf(wallet)).map(({ amount }) => amount)).toEqual([4_000_000n, 3_000_000n]);
    expect(await room.chainLength()).toBeGreaterThan(5);
  });

  it('lets one of two scanners commit each block', async () => {
    const wallet = await room.newDepositAddress();
    for (let n = 1n; n <= 6n; n += 1n) await room.localnet.airdrop(wallet, 1_000_000n * n);
    room.finalize();
    await Promise.all([room.scanAll(room.scanner()), room.scanAll(room.scanner())]);
    const amounts = (await room.depositsOf(wallet)).map(({ amount }) => amount);
    expect(amounts.toSorted((a, b) => Number(a - b))).toEqual(
      [1n, 2n, 3n, 4n, 5n, 6n].map((n) => 1_000_000n * n),
    );
    await room.chainLength();
  });
});
