import {
  createInitializeAccount3Instruction,
  createTransferInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey, SystemProgram } from '@solana/web3.js';
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { newId, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { useHotWallet } from './hot-wallet.ts';

const use = useLedger();
const hot = useHotWallet(2, use);
const ACCOUNT_BYTES = 165;
const RENT = 2_039_280;

/** A withdrawal of tokens that is recorded and not yet prepared. */
async function reserved(): Promise<{ id: string; destination: PublicKey }> {
  const id = newId();
  const destination = Keypair.generate().publicKey;
  const asset = hot.localnet.mint.address;
  await use.ledger.withdrawals.reserve(terms(id, { destination: destination.toBase58(), asset }));
  return { id, destination };
}

/** Pays tokens without Sluice to another account of the owner, by a transaction that names neither owner nor mint. */
async function payUnnamed(owner: PublicKey): Promise<string> {
  const [payer, mint] = [new PublicKey(hot.address), new PublicKey(hot.localnet.mint.address)];
  const account = Keypair.generate();
  const creation = {
    fromPubkey: payer,
    newAccountPubkey: account.publicKey,
    lamports: RENT,
    space: ACCOUNT_BYTES,
    programId: TOKEN_PROGRAM_ID,
  };
  const opening = createInitializeAccount3Instruction(account.publicKey, mint, owner);
  await hot.sign([SystemProgram.createAccount(creation), opening], [account]);
  await hot.check(use.ledger);
  await forget();
  const source = getAssociatedTokenAddressSync(mint, payer);
  return hot.sign([createTransferInstruction(source, account.publicKey, payer, 5n)]);
}

async function suspects(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.flatMap(({ kind, subject }) => (kind === 'maybe_paid' ? [subject] : [])).toSorted();
}

async function forget(): Promise<void> {
  for (const id of await suspects()) await use.ledger.alerts.close('maybe_paid', id);
}

afterEach(forget);

/** One node shows the transaction with these owners of its token balances in the place of the true ones. */
async function claimOwner(node: number, signature: string, owner: string | undefined): Promise<void> {
  const options = { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  const shown = await rpc<ReturnedTransaction>(hot.localnet.rpcUrls[node] ?? '', 'getTransaction', [
    signature,
    options,
  ]);
  const balances = shown.meta.postTokenBalances.map((balance) => ({ ...balance, owner }));
  const result = { ...shown, meta: { ...shown.meta, postTokenBalances: balances } };
  hot.localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result });
}

interface ReturnedTransaction {
  readonly meta: { readonly postTokenBalances: readonly object[] };
}

describe('an unknown token spend whose outcome alone shows the owner', () => {
  it('names only the owner that a quorum returns', async () => {
    const [suspect] = [await reserved(), await reserved()];
    await payUnnamed(suspect.destination);
    await hot.check(use.ledger);
    expect(await suspects()).toEqual([suspect.id]);
  });

  it.each([0, 1])('names the owner when node %d claims another one', async (liar) => {
    const suspect = await reserved();
    await claimOwner(liar, await payUnnamed(suspect.destination), Keypair.generate().publicKey.toBase58());
    await hot.check(use.ledger);
    expect(await suspects()).toEqual([suspect.id]);
  });

  it('names every token withdrawal when too few nodes return the owners', async () => {
    const [suspect, other] = [await reserved(), await reserved()];
    await claimOwner(0, await payUnnamed(suspect.destination), undefined);
    await hot.check(use.ledger);
    expect(await suspects()).toEqual(expect.arrayContaining([suspect.id, other.id]));
  });
});
