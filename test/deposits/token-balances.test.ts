import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { groupsOf, holdingsOf, type WalletAccounts } from '../../src/solana/history/balances.ts';
import { tokenAccountsAt } from '../../src/solana/history/token-accounts.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

function walletWith(tokenAccounts: number): WalletAccounts {
  return { wallet: newAddress(), tokenAccounts: Array.from({ length: tokenAccounts }, newAddress) };
}

const accountsOf = async (wallet: string) =>
  (await fixture.pool.read((node) => tokenAccountsAt(node, wallet))).accounts;
const read = (wallets: readonly WalletAccounts[]) => fixture.pool.read((node) => holdingsOf(node, wallets));

describe('the balance reader', () => {
  it('requests a hundred accounts at once, and splits no wallet over two calls where one call can hold it', () => {
    const wallets = [
      walletWith(60),
      walletWith(38),
      walletWith(0),
      walletWith(99),
      walletWith(150),
      walletWith(3),
    ];
    const sizes = groupsOf(wallets).map((group) => group.map(({ tokenAccounts }) => tokenAccounts.length));
    expect(sizes).toEqual([[60, 38], [0], [99], [150], [3]]);
    expect(groupsOf(wallets).flat()).toEqual(wallets);
  });

  it('returns the balances of one slot, also where it takes more than one call', async () => {
    const rich = walletWith(149);
    await fixture.localnet.airdrop(rich.wallet, 3_000_000n);
    await fixture.localnet.mintTo(fixture.localnet.mint.address, rich.wallet, 7n);
    fixture.finalize();
    const [account = ''] = await accountsOf(rich.wallet);
    const [shown] = await read([{ ...rich, tokenAccounts: [...rich.tokenAccounts, account] }]);
    expect(shown?.holdings).toEqual([
      { account: rich.wallet, asset: 'SOL', amount: 3_000_000n },
      { account, asset: fixture.localnet.mint.address, amount: 7n },
    ]);
  });

  it('returns no balance for an account of another owner, or for one that is no token account', async () => {
    const { mint } = fixture.localnet;
    const stranger = newAddress();
    await fixture.localnet.mintTo(mint.address, stranger, 7n);
    fixture.finalize();
    const [other = ''] = await accountsOf(stranger);
    const wallet = newAddress();
    const [shown] = await read([{ wallet, tokenAccounts: [other, mint.address] }]);
    expect(shown?.holdings).toEqual([{ account: wallet, asset: 'SOL', amount: 0n }]);
  });

  it('requests no invalid address, and passes over the node that names it', async () => {
    const wallet = newAddress();
    await fixture.localnet.mintTo(fixture.localnet.mint.address, wallet, 7n);
    fixture.finalize();
    const listed = await accountsOf(wallet);
    const result = { context: { slot: 1 }, value: [{ pubkey: 'garbage' }] };
    fixture.localnet.controls.setFault(0, 'getTokenAccountsByOwner', { kind: 'result', result });
    expect(await accountsOf(wallet)).toEqual(listed);
    expect(listed).toHaveLength(1);
  });
});
