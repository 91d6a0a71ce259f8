import {
  createAssociatedTokenAccountIdempotentInstruction,
  createRecoverNestedInstruction,
  createTransferCheckedInstruction,
} from '@solana/spl-token';
import { Connection, Keypair, PublicKey, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { expect, it } from 'vitest';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { auditIn, openAlertsIn, reconcileIn } from './audit-support.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const NESTED = 'nested_token_account';

interface NestedPayment {
  readonly owner: Keypair;
  readonly wallet: string;
  readonly ata: string;
  /** The token account whose owner is `ata`. */
  readonly nested: string;
}

async function land(
  payer: Keypair,
  signers: readonly Keypair[],
  instructions: readonly TransactionInstruction[],
) {
  const connection = new Connection(fixture.localnet.rpcUrls[0] ?? '', 'processed');
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: payer.publicKey, recentBlockhash: blockhash });
  transaction.add(...instructions).sign(payer, ...signers);
  await connection.sendRawTransaction(transaction.serialize());
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
}

/**
 * A stranger takes the token account of a deposit wallet, existing or not, for a wallet: he makes an account for it and sends 900,
 * and then 30, by a transaction that names the new account alone. `control` is paid to the token account itself.
 */
async function paidToTheAccount(control: bigint): Promise<NestedPayment> {
  await fixture.scanAll(fixture.scanner());
  const [owner, stranger] = [Keypair.generate(), Keypair.generate()];
  const wallet = owner.publicKey.toBase58();
  await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }]);
  const { address: mint, decimals } = fixture.localnet.mint;
  const ata = deriveAta(wallet, mint, TOKEN_PROGRAM);
  const nested = deriveAta(ata, mint, TOKEN_PROGRAM, true);
  if (control > 0n) await fixture.localnet.mintTo(mint, wallet, control);
  await fixture.localnet.airdrop(stranger.publicKey.toBase58(), 1_000_000_000n);
  await fixture.localnet.mintTo(mint, stranger.publicKey.toBase58(), 1_000n);
  const source = new PublicKey(deriveAta(stranger.publicKey.toBase58(), mint, TOKEN_PROGRAM));
  const [to, key] = [new PublicKey(nested), new PublicKey(mint)];
  const make = createAssociatedTokenAccountIdempotentInstruction(
    stranger.publicKey,
    to,
    new PublicKey(ata),
    key,
  );
  const send = (amount: bigint) =>
    createTransferCheckedInstruction(source, key, to, stranger.publicKey, amount, decimals);
  await land(stranger, [], [make, send(900n)]);
  await land(stranger, [], [send(30n)]);
  await fixture.confirm();
  return { owner, wallet, ata, nested };
}

const reconcile = () => reconcileIn(fixture);

async function recordedDeposits(wallet: string) {
  const rows = await fixture.depositsOf(wallet);
  const all = rows.map(({ account, amount, state, reason }) => ({ account, amount, state, reason }));
  return all.toSorted((a, b) => Number(a.amount - b.amount));
}

const notCredited = (account: string, amount: bigint) => ({
  account,
  amount,
  state: 'not_credited',
  reason: NESTED,
});

it('the reconciliation lists tokens in an account of our token account, and the wallet can recover them', async () => {
  const { owner, wallet, ata, nested } = await paidToTheAccount(7n);
  const credited = { account: ata, amount: 7n, state: 'final', reason: null };
  expect(await recordedDeposits(wallet)).toEqual([credited]);
  expect(await reconcile()).toMatchObject({ differences: 0, unread: 0 });
  expect(await openAlertsIn(fixture, 'nested_tokens')).toEqual([nested]);
  await fixture.confirm();
  expect(await recordedDeposits(wallet)).toEqual([
    credited,
    notCredited(nested, 30n),
    notCredited(nested, 900n),
  ]);
  const { events } = await fixture.ledger.depositFeed.events(0n, 100, { address: wallet });
  expect(events.map(({ kind }) => kind)).toEqual(['pending', 'final', 'not_credited', 'not_credited']);
  expect(await openAlertsIn(fixture, 'deposit_mismatch')).toEqual([]);

  const payer = await fixture.newSigner(1_000_000_000n);
  const [mint, to, from] = [fixture.localnet.mint.address, ata, nested].map((key) => new PublicKey(key));
  if (mint === undefined || to === undefined || from === undefined) throw new Error('three addresses');
  await land(payer, [owner], [createRecoverNestedInstruction(from, mint, to, to, mint, owner.publicKey)]);
  await fixture.confirm();
  expect(await recordedDeposits(wallet)).toContainEqual({
    account: ata,
    amount: 930n,
    state: 'final',
    reason: null,
  });
  expect(await reconcile()).toMatchObject({ differences: 0, unread: 0 });
  expect(await openAlertsIn(fixture, 'nested_tokens')).toEqual([]);
});

it('an audit lists tokens in a nested account, also where the token account of the wallet does not exist', async () => {
  const { wallet, nested } = await paidToTheAccount(0n);
  expect(await recordedDeposits(wallet)).toEqual([]);
  const to = `${(await fixture.ledger.scan.cursor())?.slot}`;
  const order = { address: wallet, from: '1', to, repair: true, cause: 'operator' } as const;
  expect(await auditIn(fixture, order)).toMatchObject({ found: 2, remaining: 0, unread: 0 });
  await fixture.confirm();
  expect(await recordedDeposits(wallet)).toEqual([notCredited(nested, 30n), notCredited(nested, 900n)]);
  expect(await auditIn(fixture, order)).toMatchObject({ found: 0, unread: 0 });
});
