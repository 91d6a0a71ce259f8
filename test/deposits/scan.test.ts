import { describe, expect, it } from 'vitest';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

describe('the scan of a real chain', () => {
  it('credits SOL and tokens once, pending until a second node has confirmed them', async () => {
    const scanner = fixture.scanner();
    await fixture.scanAll(scanner);
    const wallet = await fixture.newDepositAddress();
    const { mint } = fixture.localnet;
    await fixture.localnet.airdrop(wallet, 5_000_000_000n);
    await fixture.localnet.mintTo(mint.address, wallet, 12_500_000n);
    await fixture.scanAll(scanner);
    const pending = await fixture.depositsOf(wallet);
    expect(pending.map(({ asset, amount, state }) => ({ asset, amount, state }))).toEqual([
      { asset: mint.address, amount: 12_500_000n, state: 'pending' },
      { asset: 'SOL', amount: 5_000_000_000n, state: 'pending' },
    ]);
    expect(pending[0]?.account).toBe(deriveAta(wallet, mint.address, TOKEN_PROGRAM));
    expect(await fixture.confirm()).toBe(2);
    expect((await fixture.depositsOf(wallet)).map(({ state }) => state)).toEqual(['final', 'final']);
    const { events } = await fixture.ledger.depositFeed.events(0n, 100, { address: wallet });
    expect(events.map(({ kind }) => kind)).toEqual(['pending', 'pending', 'final', 'final']);
  });

  it('continues where another process stopped, over skipped slots', async () => {
    const wallet = await fixture.newDepositAddress();
    fixture.localnet.controls.skipSlots(7);
    await fixture.localnet.airdrop(wallet, 3_000_000n);
    fixture.localnet.controls.skipSlots(3);
    await fixture.localnet.airdrop(wallet, 4_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    expect((await fixture.depositsOf(wallet)).map(({ amount }) => amount)).toEqual([4_000_000n, 3_000_000n]);
    expect(await fixture.chainLength()).toBeGreaterThan(5);
  });

  it('lets one of two scanners commit each block', async () => {
    const wallet = await fixture.newDepositAddress();
    for (let n = 1n; n <= 6n; n += 1n) await fixture.localnet.airdrop(wallet, 1_000_000n * n);
    fixture.finalize();
    await Promise.all([fixture.scanAll(fixture.scanner()), fixture.scanAll(fixture.scanner())]);
    const amounts = (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
    expect(amounts.toSorted((a, b) => Number(a - b))).toEqual(
      [1n, 2n, 3n, 4n, 5n, 6n].map((n) => 1_000_000n * n),
    );
    await fixture.chainLength();
  });
});
