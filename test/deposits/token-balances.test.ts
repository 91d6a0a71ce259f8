import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { groupsOf, holdingsOf, type WalletAccounts } from '../../src/solana/history/balances.ts';
import { tokenAccountsAt } from '../../src/solana/history/token-accounts.ts';
import { useScanRoom } from './scan-fixture.ts';

const room = useScanRoom();

function walletWith(tokenAccounts: number): WalletAccounts {
  return { wallet: newAddress(), tokenAccounts: Array.from({ length: tokenAccounts }, newAddress) };
}

const accountsOf = async (wallet: string) =>
  (await room.pool.read((node) => tokenAccountsAt(node, wallet))).accounts;
const read = (wallets: readonly WalletAccounts[]) => room.pool.read((node) => holdingsOf(node, wallets));

describe('what wallets hold', () => {
  it('is asked for by a hundred accounts at once, a wallet never in two calls where it fits into one', () => {
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

  it('is of one slot, also where it takes more than one call', async () => {
    const rich = walletWith(149);
    await room.localnet.airdrop(rich.wallet, 3_000_000n);
    await room.localnet.mintTo(room.localnet.mint.address, rich.wallet, 7n);
    room.finalize();
    const [account = ''] = await accountsOf(rich.wallet);
    const [shown] = await read([{ ...rich, tokenAccounts: [...rich.tokenAccounts, account] }]);
    expect(shown?.holdings).toEqual([
      { account: rich.wallet, asset: 'SOL', amount: 3_000_000n },
      { account, asset: room.localnet.mint.address, amount: 7n },
    ]);
  });

  it('is nothing in an account of somebody else, or in one that is no token account', async () => {
    const { mint } = room.localnet;
    const stranger = newAddress();
    await room.localnet.mintTo(mint.address, stranger, 7n);
    room.finalize();
    const [other = ''] = await accountsOf(stranger);
    const wallet = newAddress();
    const [shown] = await read([{ wallet, tokenAccounts: [other, mint.address] }]);
    expect(shown?.holdings).toEqual([{ account: wallet, asset: 'SOL', amount: 0n }]);
  });

  it('is not asked for in what is no address: the node that names it is passed over', async () => {
    const wallet = newAddress();
    await room.localnet.mintTo(room.localnet.mint.address, wallet, 7n);
    room.finalize();
    const listed = await accountsOf(wallet);
    const result = { context: { slot: 1 }, value: [{ pubkey: 'garbage' }] };
    room.localnet.controls.setFault(0, 'getTokenAccountsByOwner', { kind: 'result', result });
    expect(await accountsOf(wallet)).toEqual(listed);
    expect(listed).toHaveLength(1);
  });
});
