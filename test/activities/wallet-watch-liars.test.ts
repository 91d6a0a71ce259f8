import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import { Keypair, PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AttemptOutcome } from '../../src/ledger/settlements/attempts.ts';
import type { Signer } from '../../src/signing/signer.ts';
import { sendTransaction } from '../../src/solana/rpc/methods.ts';
import { finalizedTip } from '../../src/solana/scan/frontier.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { attempt, codeOf, newId, PLENTY, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { hedgingSigner } from '../support/hedging-signer.ts';
import { quickChain } from '../support/quick-chain.ts';
import { useHotWallet } from './hot-wallet.ts';

const FAR = 10 ** 15;
const use = useLedger();
const hot = useHotWallet(3, use);

function check(): Promise<void> {
  return hot.check(use.ledger);
}

async function openSubjects(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 200 });
  return rows.map(({ subject }) => subject);
}

/** One node answers a method with this, for any request. */
function lie(node: number, method: string, result: unknown): void {
  hot.localnet.controls.setFault(node, method, { kind: 'result', result });
}

/** A recorded withdrawal, and whether an attempt may be prepared for it now. */
async function prepares(): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  return (await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind;
}

/** A withdrawal whose first attempt has this signature, and this end. */
async function givenUp(id: string, signature: string, end: Pick<AttemptOutcome, 'state' | 'slot' | 'error'>) {
  await use.ledger.withdrawals.reserve(terms(id));
  await use.ledger.attempts.prepare(attempt(id), PLENTY);
  await use.ledger.attempts.storeSignature(id, 1, signature);
  await use.ledger.attempts.settle(id, 1, { ...end, proof: {} });
}

/** One message under two signatures of its signer, both valid. */
async function signedTwice(signer: Signer) {
  const { blockhash } = await quickChain(hot.pool).latestBlockhash();
  const fromPubkey = new PublicKey(signer.address);
  const toPubkey = Keypair.generate().publicKey;
  const instructions = [SystemProgram.transfer({ fromPubkey, toPubkey, lamports: 3_000_000 })];
  const draft = new TransactionMessage({ payerKey: fromPubkey, recentBlockhash: blockhash, instructions });
  const message = draft.compileToV0Message().serialize();
  const signed = async () => assembleTransaction(message, await signer.sign(message));
  return { message, first: await signed(), second: await signed() };
}

const signatureOf = (name: string): string => base58.encode(createHash('sha512').update(name).digest());

describe('one node of three', () => {
  it('that returns a far slot for a payment hides no later spend', async () => {
    lie(0, 'getSignaturesForAddress', [{ signature: await hot.spend(), slot: FAR }]);
    lie(0, 'getEpochInfo', { epoch: 0, absoluteSlot: FAR, blockHeight: FAR });
    await check();
    hot.localnet.controls.clearFaults();
    hot.localnet.controls.produceSlots(200);
    await check();
    const later = await hot.spend();
    await check();
    expect(await openSubjects()).toContain(later);
  });

  it('that lists a transaction it cannot show is ignored', async () => {
    const spent = await hot.spend();
    lie(1, 'getSignaturesForAddress', [{ signature: 'made-up', slot: 7_000 }]);
    await check();
    expect(await openSubjects()).toEqual([hot.address, spent]);
    hot.localnet.controls.clearFaults();
    await check();
    expect(await openSubjects()).toEqual([spent]);
  });

  it('that shows another transaction for a spend neither hides the spend nor invents one', async () => {
    const deposit = await hot.localnet.airdrop(Keypair.generate().publicKey.toBase58(), 5_000_000n);
    hot.localnet.controls.produceSlots(4);
    const params = [deposit, { encoding: 'base64', maxSupportedTransactionVersion: 1 }];
    lie(0, 'getTransaction', await hot.pool.read((node) => node.call('getTransaction', params, z.unknown())));
    const spent = await hot.spend();
    await check();
    expect(await openSubjects()).toEqual([spent]);
  });

  it('that returns the same page forever is ignored', async () => {
    const page = Array.from({ length: 1_000 }, (_, index) => ({ signature: `s${index}`, slot: FAR - index }));
    lie(2, 'getSignaturesForAddress', page);
    const spent = await hot.spend();
    const asked = hot.pool.nodes[2]?.callCount ?? 0;
    await check();
    expect((hot.pool.nodes[2]?.callCount ?? 0) - asked).toBeLessThan(10);
    expect(await openSubjects()).toEqual([spent]);
  });

  it('that returns a far height does not keep a restore gap open', async () => {
    await sql`update continuity set identity = 'another'`.execute(use.ledger.db);
    lie(0, 'getBlockHeight', FAR);
    await check();
    hot.localnet.controls.clearFaults();
    hot.localnet.controls.produceSlots(310);
    await check();
    expect(await prepares()).toBe('prepared');
  });

  it('that lists an attempt proved dead stops no payment, and is distrusted', async () => {
    const id = newId();
    await givenUp(id, signatureOf(id), { state: 'dead' });
    hot.localnet.controls.produceSlots(4);
    const slot = Number(await finalizedTip(hot.pool));
    lie(0, 'getSignaturesForAddress', [{ signature: signatureOf(id), slot }]);
    await check();
    expect(await openSubjects()).toEqual([]);
    expect((await use.ledger.attempts.prepare(attempt(id, 2), PLENTY)).kind).toBe('prepared');
    expect(await prepares()).toBe('prepared');
    expect(hot.pool.report()[0]?.demotion).toMatchObject({ cause: 'false' });
  });

  it('that lists a sent attempt under another signature has no effect until two nodes return it', async () => {
    const signer = hedgingSigner(Keypair.generate());
    await hot.localnet.airdrop(signer.address, 1_000_000_000n);
    await hot.check(use.ledger, signer.address);
    const { message, first, second } = await signedTwice(signer);
    const id = newId();
    await use.ledger.withdrawals.reserve(terms(id));
    const row = { signers: [signer.address], messageHash: messageHashOf(message) };
    await use.ledger.attempts.prepare(attempt(id, 1, row), PLENTY);
    await use.ledger.attempts.storeSignature(id, 1, first.signature);
    const signature = async () => (await use.ledger.attempts.get(id, 1)).signature;

    hot.localnet.controls.produceSlots(4);
    const slot = Number(await finalizedTip(hot.pool));
    lie(0, 'getSignaturesForAddress', [{ signature: second.signature, slot }]);
    const meta = { err: null, fee: 5_000, preBalances: [], postBalances: [] };
    lie(0, 'getTransaction', { slot, meta, transaction: [second.raw, 'base64'], version: 0 });
    await hot.check(use.ledger, signer.address);
    expect(await signature()).toBe(first.signature);
    expect(hot.pool.report()[0]?.demotion).toMatchObject({ cause: 'false' });

    hot.localnet.controls.clearFaults();
    await hot.pool.read((node) => sendTransaction(node, second.raw));
    hot.localnet.controls.produceSlots(4);
    await hot.check(use.ledger, signer.address);
    expect(await signature()).toBe(second.signature);
    expect(await openSubjects()).toEqual([]);
  });

  it('that reports a failed attempt as a success stops no payment', async () => {
    const id = newId();
    const toPubkey = Keypair.generate().publicKey;
    const transfer = { fromPubkey: new PublicKey(hot.address), toPubkey, lamports: 10n ** 18n };
    const signature = await hot.sign([SystemProgram.transfer(transfer)]);
    await givenUp(id, signature, { state: 'failed', slot: 9n, error: 'ResultWithNegativeLamports' });
    const status = { slot: 9, confirmations: null, err: null, confirmationStatus: 'finalized' };
    lie(0, 'getSignatureStatuses', { context: { slot: 9 }, value: [status] });
    await check();
    expect(await openSubjects()).toEqual([]);
    expect(await prepares()).toBe('prepared');
  });
});

it('a wallet that paid before is watched, although another wallet pays now', async () => {
  const spent = await hot.spend();
  await hot.check(use.ledger, Keypair.generate().publicKey.toBase58());
  expect(await openSubjects()).toEqual([spent]);
});

it('the watch catches up on more dust than one run reads, and reads each transaction once', async () => {
  await check();
  for (let grain = 1n; grain <= 5n; grain += 1n) await hot.localnet.airdrop(hot.address, grain);
  hot.localnet.controls.produceSlots(4);
  const { ledger } = use;
  const deps = { ledger, chain: quickChain(hot.pool), hotWallet: hot.address, maxReads: 2 };
  const watch = new WalletWatch(deps);
  expect([await codeOf(watch.check()), await codeOf(watch.check()), await codeOf(watch.check())]).toEqual([
    'Unavailable',
    'Unavailable',
    'none',
  ]);
});
