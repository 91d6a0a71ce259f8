import { describe, expect, it } from 'vitest';
import { fund } from '../../devkit/localnet/genesis.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture();

/** A deposit address with recorded deposits of this much SOL, and of tokens. */
async function paid(lamports: bigint): Promise<string> {
  await room.scanAll(room.scanner());
  const wallet = await room.newDepositAddress();
  await room.localnet.airdrop(wallet, lamports);
  await room.localnet.mintTo(room.localnet.mint.address, wallet, 7n);
  await scanned();
  return wallet;
}

async function scanned(): Promise<void> {
  room.finalize();
  await room.scanAll(room.scanner());
}

async function differences(): Promise<number> {
  return (await reconcileIn(room)).differences;
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await room.depositsOf(wallet)).map(({ amount }) => amount);
}

describe('no deposit', () => {
  it('is credited for SOL without a transaction, such as a reward, and an alert reports it', async () => {
    const wallet = await paid(3_000_000n);
    expect(await differences()).toBe(0);
    fund(room.localnet.controls.chain, wallet, 3_000_050n);
    await scanned();
    expect(await amountsOf(wallet)).toHaveLength(2);
    expect(await differences()).toBe(1);
    expect(await openAlertsIn(room, 'balance_difference')).toEqual([`${wallet}/SOL`]);
    fund(room.localnet.controls.chain, wallet, 3_000_000n);
    await scanned();
    expect(await differences()).toBe(0);
  });

  it('is credited for a token whose mint was closed and created again with other decimals, and an alert lists it', async () => {
    const mint = await room.localnet.controls.createToken22Mint();
    await room.list(mint, TOKEN_2022_PROGRAM, 9);
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.mintTo(mint, wallet, 7n);
    await scanned();
    await room.confirm();
    expect(await room.depositsOf(wallet)).toMatchObject([
      { amount: 7n, state: 'not_credited', reason: 'asset_changed' },
    ]);
    expect(await openAlertsIn(room, 'asset_changed')).toEqual([mint]);
  });

  it('is credited for SOL that is paid to a token account of the wallet, and no alert reports it', async () => {
    const wallet = await paid(3_000_000n);
    await room.localnet.airdrop(deriveAta(wallet, room.localnet.mint.address, TOKEN_PROGRAM), 1_000_000n);
    await scanned();
    expect(await amountsOf(wallet)).toHaveLength(2);
    expect(await differences()).toBe(0);
  });
});
