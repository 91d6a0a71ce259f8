import { Connection, Keypair, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { expect, it } from 'vitest';
import { holdingsOf } from '../../src/solana/history/balances.ts';
import { reconcileIn } from './audit-support.ts';
import { ConfidentialToken } from './confidential.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();

async function land(
  payer: Keypair,
  signers: readonly Keypair[],
  instructions: readonly TransactionInstruction[],
) {
  const connection = new Connection(fixture.localnet.rpcUrls[0] ?? '', 'processed');
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: payer.publicKey, recentBlockhash: blockhash });
  transaction.add(...instructions);
  transaction.sign(payer, ...signers);
  await connection.sendRawTransaction(transaction.serialize());
  fixture.finalize();
}

const reconcile = () => reconcileIn(fixture);

async function openAlerts(): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => [kind, subject] as const);
}

it('the reconciliation reports that the owner of a confidential account must apply its pending balance, until the balance is applied', async () => {
  const owner = Keypair.generate();
  const wallet = owner.publicKey.toBase58();
  await fixture.scanAll(fixture.scanner());
  await fixture.ledger.addresses.import([{ address: wallet, path: 'm' }]);
  await fixture.localnet.airdrop(wallet, 1_000_000_000n);
  const token = new ConfidentialToken(owner.publicKey);
  const account = token.account.toBase58();
  await land(owner, [token.mint], token.create(10_000_000, 5_000n));
  await land(owner, [], token.configure());
  await fixture.scanAll(fixture.scanner());
  const holdings = () =>
    fixture.pool.read(async (node) => (await holdingsOf(node, [{ wallet, tokenAccounts: [account] }]))[0]);
  expect(await holdings()).toMatchObject({ pending: [] });
  expect(await reconcile()).toMatchObject({ differences: 0, confidential: 0 });

  await land(owner, [], [token.deposit(1_200n), token.deposit(300n)]);
  await fixture.scanAll(fixture.scanner());
  const shown = await holdings();
  expect(shown?.pending).toEqual([account]);
  expect(shown?.holdings.find((one) => one.account === account)?.amount).toBe(3_500n);
  const { value } = await new Connection(fixture.localnet.rpcUrls[0] ?? '').getAccountInfoAndContext(
    token.account,
  );
  expect(value?.data.length).toBeGreaterThan(165);
  expect(await reconcile()).toMatchObject({ differences: 0, confidential: 1 });
  expect(await openAlerts()).toEqual([['confidential_pending', account]]);

  await land(owner, [], [token.apply(2n)]);
  await fixture.scanAll(fixture.scanner());
  expect(await reconcile()).toMatchObject({ differences: 0, confidential: 0 });
  expect(await openAlerts()).toEqual([]);
});
