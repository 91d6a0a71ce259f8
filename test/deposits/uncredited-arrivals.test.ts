import { describe, expect, it } from 'vitest';
import { fund } from '../../devkit/localnet/genesis.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

/** A deposit address with recorded deposits of this much SOL, and of tokens. */
async function paid(lamports: bigint): Promise<string> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, lamports);
  await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 7n);
  await scanned();
  return wallet;
}

async function scanned(): Promise<void> {
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
}

async function differences(): Promise<number> {
  return (await reconcileIn(fixture)).differences;
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

describe('no deposit', () => {
  it('is credited for SOL without a transaction, such as a reward, and an alert reports it', async () => {
    const wallet = await paid(3_000_000n);
    expect(await differences()).toBe(0);
    fund(fixture.localnet.controls.chain, wallet, 3_000_050n);
    await scanned();
    expect(await amountsOf(wallet)).toHaveLength(2);
    expect(await differences()).toBe(1);
    expect(await openAlertsIn(fixture, 'balance_difference')).toEqual([`${wallet}/SOL`]);
    fund(fixture.localnet.controls.chain, wallet, 3_000_000n);
    await scanned();
    expect(await differences()).toBe(0);
  });

  it('is credited for a token whose mint was closed and created again with other decimals, and an alert lists it', async () => {
    const mint = await fixture.localnet.controls.createToken22Mint();
    await fixture.list(mint, TOKEN_2022_PROGRAM, 9);
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.mintTo(mint, wallet, 7n);
    await scanned();
    await fixture.confirm();
    expect(await fixture.depositsOf(wallet)).toMatchObject([
      { amount: 7n, state: 'not_credited', reason: 'asset_changed' },
    ]);
    expect(await openAlertsIn(fixture, 'asset_changed')).toEqual([mint]);
  });

  it('is credited for SOL that is paid to a token account of the wallet, and no alert reports it', async () => {
    const wallet = await paid(3_000_000n);
    await fixture.localnet.airdrop(
      deriveAta(wallet, fixture.localnet.mint.address, TOKEN_PROGRAM),
      1_000_000n,
    );
    await scanned();
    expect(await amountsOf(wallet)).toHaveLength(2);
    expect(await differences()).toBe(0);
  });
});
