import { base58, base64 } from '@scure/base';
import { Keypair, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { createUnsignedExpiry } from '../../src/settlement/expire-unsigned.ts';
import { NonceLifetimes } from '../../src/settlement/lifetimes.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { readNonceAccount } from '../../src/solana/nonces/account.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { hedgingSigner } from '../support/hedging-signer.ts';
import { freshDatabase } from '../support/postgres.ts';
import { quickChain } from '../support/quick-chain.ts';
import { AMOUNT, NonceFixture } from './nonce-fixture.ts';

const HOT_KEY = Keypair.generate();
const HOT = HOT_KEY.publicKey.toBase58();

let database: Awaited<ReturnType<typeof freshDatabase>>;
let ledger: Ledger;
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let clock: NodeJS.Timeout;
let fixture: NonceFixture;

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openLedger(database.url);
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = quickChain(pool);
  fixture = await NonceFixture.open({ ledger, chain, key: HOT_KEY });
  clock = setInterval(() => localnet.controls.produceSlot(), 40);
});
afterAll(async () => {
  clearInterval(clock);
  await pool?.close();
  await localnet?.close();
  await ledger?.close();
  await database?.drop();
});

async function lamports(address: string): Promise<bigint> {
  return (await chain.accounts([address])).accounts[0]?.lamports ?? 0n;
}

describe('a withdrawal with a durable nonce', () => {
  it('waits while no account is free, and gives that reason', async () => {
    expect(await fixture.prepare(await fixture.withdrawal())).toMatchObject({
      kind: 'waiting',
      status: 'held',
      reason: { code: 'no_free_nonce' },
    });
  });

  it('is paid, and its account is free again only once another nonce is finalized', async () => {
    const { address, nonce, state } = await fixture.newAccount();
    expect(state).toBe('free');
    const paid = await fixture.withdrawal();
    const preparation = await fixture.prepare(paid);
    expect(await fixture.account(address)).toMatchObject({ state: 'leased', settlementId: paid.id, nonce });
    const [row] = await ledger.attempts.of(paid.id);
    expect(row).toMatchObject({ nonceAccount: address, blockhash: nonce, lastValidBlockHeight: null });

    const landing = await fixture.land(await fixture.sign(paid, preparation));
    expect(landing.kind).toBe('finalized');
    expect(await lamports(paid.destination)).toBe(AMOUNT);
    expect(await fixture.account(address)).toMatchObject({ state: 'unproved', settlementId: null, nonce });
    const other = await fixture.withdrawal();
    const again = await fixture.sign(other, await fixture.preparedWhenFree(other));
    expect((await fixture.land(again)).kind).toBe('finalized');
    const [later] = await ledger.attempts.of(other.id);
    expect(later?.nonceAccount).toBe(address);
    expect(later?.blockhash).not.toBe(nonce);
  });

  it('is paid once when its signer returns two signatures, even if the database has only the one that did not land', async () => {
    const paid = await fixture.withdrawal();
    const signed = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    const message = base64.decode(signed.message);
    const sent = assembleTransaction(message, await hedgingSigner(HOT_KEY).sign(message));
    expect(sent.signature).not.toBe(signed.signature);
    await chain.send(sent.raw);
    await expect.poll(() => lamports(paid.destination), { timeout: 20_000 }).toBe(AMOUNT);
    const landing = fixture.land(signed);
    const status = async () => (await ledger.withdrawals.get(paid.id)).reason?.message;
    await expect
      .poll(status, { timeout: 30_000 })
      .toContain(`the message of the attempt has landed with signature ${sent.signature}`);
    await new WalletWatch({ ledger, chain, hotWallet: HOT }).check();
    expect(await landing).toMatchObject({ kind: 'finalized', signature: sent.signature });
    expect(await ledger.attempts.of(paid.id)).toMatchObject([{ signature: sent.signature, state: 'landed' }]);
    expect(await lamports(paid.destination)).toBe(AMOUNT);
  });

  it('reads its slot and its nonce from a quorum, whatever one node claims', async () => {
    await fixture.newAccount();
    const lifetimes = new NonceLifetimes({ ledger, chain, hotWallet: HOT });
    const next = await ledger.nonces.candidate(HOT, 7n);
    const { data, ...account } = (await chain.accounts([next?.address ?? ''])).accounts[0] ?? {
      data: new Uint8Array(),
    };
    const claim = (bytes: Uint8Array) => {
      const held = {
        ...account,
        lamports: 1_500_000,
        data: [Buffer.from(bytes).toString('base64'), 'base64'],
      };
      const result = { context: { slot: 10 ** 9 }, value: [held] };
      localnet.controls.clearFaults(0, 'getMultipleAccounts');
      localnet.controls.setFault(0, 'getMultipleAccounts', { kind: 'result', result });
    };
    try {
      claim(data);
      const tip = localnet.controls.chain.ledger.tip.slot;
      const lifetime = await lifetimes.next(7n);
      expect(lifetime).toMatchObject({ kind: 'nonce', account: next?.address, nonce: next?.nonce });
      expect('slot' in lifetime && Math.abs(Number(lifetime.slot) - tip)).toBeLessThan(100);
      claim(data.with(40, (data[40] ?? 0) ^ 1));
      await expect(lifetimes.next(7n)).rejects.toThrow('fewer than 2 of 2 nodes agree');
      expect(await fixture.account(next?.address ?? '')).toMatchObject({ state: 'free', nonce: next?.nonce });
    } finally {
      localnet.controls.clearFaults();
    }
  });

  it('shares no nonce with any other, however many are prepared at once', async () => {
    await fixture.newAccount();
    const all = await Promise.all(Array.from({ length: 9 }, () => fixture.withdrawal()));
    const preparations = await Promise.all(all.map((one) => fixture.prepare(one)));
    const prepared = preparations.filter(({ kind }) => kind === 'prepared');
    expect(prepared).toHaveLength(3);
    const waiting = preparations.filter(
      (one) => one.kind === 'waiting' && one.reason.code === 'no_free_nonce',
    );
    expect(waiting).toHaveLength(6);
    const ended = async () => {
      const steps = await Promise.all(all.map((one) => fixture.prepare(one)));
      for (const [index, step] of steps.entries()) {
        const paid = all[index];
        if (paid !== undefined && step.kind === 'prepared')
          await fixture.land(await fixture.sign(paid, step));
      }
      return steps.filter(({ kind }) => kind === 'ended').length;
    };
    await expect.poll(ended, { timeout: 60_000 }).toBe(9);
    const rows = (await Promise.all(all.map(({ id }) => ledger.attempts.of(id)))).flat();
    expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 9 }, () => 'landed'));
    expect(new Set(rows.map((row) => `${row.nonceAccount}/${row.blockhash}`)).size).toBe(9);
    for (const { destination } of all) expect(await lamports(destination)).toBe(AMOUNT);
  });

  it('is dead after a bare advance, and a second attempt pays it once', async () => {
    const paid = await fixture.withdrawal();
    const signed = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    const [first] = await ledger.attempts.of(paid.id);
    if (!first?.nonceAccount) throw new Error('it has no nonce account');
    const used = { address: first.nonceAccount, nonce: first.blockhash };
    expect(await fixture.settle(await fixture.advance(used))).toMatchObject({ kind: 'finalized' });
    expect(await fixture.land(signed)).toMatchObject({ kind: 'dead' });
    expect(await fixture.settle(await fixture.advance(used)), 'a late request has no effect').toBeNull();

    const second = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    expect((await fixture.land(second)).kind).toBe('finalized');
    expect(await lamports(paid.destination)).toBe(AMOUNT);
    const rows = await ledger.attempts.of(paid.id);
    expect(rows.map(({ state }) => state)).toEqual(['dead', 'landed']);
    expect(rows[0]?.proof).toMatchObject({ nonceUsedBy: { carriedNonce: true } });
  });

  it('outlives an advance that came too late, and is paid once', async () => {
    const paid = await fixture.withdrawal();
    const signed = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    const [row] = await ledger.attempts.of(paid.id);
    if (!row?.nonceAccount) throw new Error('it has no nonce account');
    const id = await fixture.advance({ address: row.nonceAccount, nonce: row.blockhash });
    const attempt = await fixture.prepareSettlement(id);
    if (attempt === null) throw new Error('the account is leased with this nonce');
    expect((await fixture.land(signed)).kind).toBe('finalized');
    const signature = await fixture.signSettlement(attempt);
    expect(await fixture.landSettlement(id, attempt, signature)).toMatchObject({ kind: 'dead' });
    expect(await fixture.settle(id), 'nothing is to be used up any more').toBeNull();
    expect(await ledger.settlements.get(id)).toMatchObject({ status: 'cancelled' });
    expect(await lamports(paid.destination)).toBe(AMOUNT);
  });

  it('is not failed when a block includes it without executing it, and is resent and paid once', async () => {
    await fixture.newAccount();
    const paid = await fixture.withdrawal();
    const signed = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    const err = 'AccountNotFound';
    const { slot } = await chain.accounts([HOT]);
    const status = { slot: Number(slot), confirmations: null, err, confirmationStatus: 'finalized' };
    const statuses = { context: { slot: Number(slot) }, value: [status] };
    const shown = { slot: Number(slot), meta: { err, fee: 0, preBalances: [9], postBalances: [9] } };
    const { controls } = localnet;
    for (const node of [0, 1]) {
      controls.setFault(node, 'getSignatureStatuses', { kind: 'result', result: statuses });
      controls.setFault(node, 'getTransaction', { kind: 'result', result: shown });
      controls.setFault(node, 'sendTransaction', { kind: 'drop-send' });
    }
    const before = controls.faultsMet()['drop-send'] ?? 0;
    const landing = fixture.land(signed);
    await expect
      .poll(() => controls.faultsMet()['drop-send'] ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(before + 6);
    expect(await ledger.attempts.get(paid.id, signed.n)).toMatchObject({ state: 'signed' });
    expect(await ledger.withdrawals.get(paid.id)).toMatchObject({ status: 'sending' });
    controls.clearFaults();
    expect((await landing).kind).toBe('finalized');
    expect(await lamports(paid.destination)).toBe(AMOUNT);
  });

  it('is dead without a signature once an advance used its nonce, and its account is free again', async () => {
    const expiry = createUnsignedExpiry({ ledger, chain });
    const { paid, used } = await refused();
    expect(await expiry.expireUnsigned()).toBe(0);
    expect(await fixture.settle(await fixture.advance(used))).toMatchObject({ kind: 'finalized' });
    await expect.poll(() => expiry.expireUnsigned(), { timeout: 30_000 }).toBe(1);
    const [dead] = await ledger.attempts.of(paid.id);
    expect(dead?.proof).toMatchObject({ nonceUsedBy: { carriedNonce: true } });
    expect(await fixture.account(used.address)).toMatchObject({ state: 'unproved', settlementId: null });
    const again = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    expect((await fixture.land(again)).kind).toBe('finalized');
    expect(await statesOf(paid.id)).toEqual(['dead', 'landed']);
    expect(await lamports(paid.destination)).toBe(AMOUNT);
  });

  it('is not dead when it was signed and sent, whatever the database says', async () => {
    const { paid, preparation } = await refused();
    const { message, signature } = await fixture.sign(paid, preparation);
    await chain.send(assembleTransaction(base64.decode(message), base58.decode(signature)).raw);
    await expect.poll(() => lamports(paid.destination), { timeout: 20_000 }).toBe(AMOUNT);
    expect(await createUnsignedExpiry({ ledger, chain }).expireUnsigned()).toBe(0);
    expect(await statesOf(paid.id)).toEqual(['prepared']);
    await new WalletWatch({ ledger, chain, hotWallet: HOT }).check();
    expect(await statesOf(paid.id)).toEqual(['signed']);
    expect((await fixture.land({ id: paid.id, n: 1, signature, message })).kind).toBe('finalized');
  });

  it('leaves no transaction of the hot wallet that the database lacks', async () => {
    await fixture.prepare(await fixture.withdrawal());
    expect((await ledger.alerts.list({ open: true, limit: 9 })).rows).toEqual([]);
  });

  // The last one: it takes the money of the hot wallet without a database row.
  it('waits for its next attempt when its transaction fails on chain and uses the nonce', async () => {
    const paid = await fixture.withdrawal();
    const signed = await fixture.sign(paid, await fixture.preparedWhenFree(paid));
    const [row] = await ledger.attempts.of(paid.id);
    await drain(1_500_000n);
    expect(await fixture.land(signed)).toMatchObject({ kind: 'failed', goesOn: true });
    const waiting = { status: 'preparing', reason: { code: 'attempt_failed' } };
    expect(await ledger.withdrawals.get(paid.id)).toMatchObject(waiting);
    const { address } = await fixture.account(row?.nonceAccount ?? '');
    await expect.poll(() => finalizedNonce(address), { timeout: 20_000 }).not.toBe(row?.blockhash);
    expect(await lamports(paid.destination)).toBe(0n);
  });
});

/** An attempt that is prepared, and that the signer has refused. */
async function refused() {
  const paid = await fixture.withdrawal();
  const preparation = await fixture.preparedWhenFree(paid);
  const reason = { code: 'signing_refused', message: 'the price is above what this signer grants' };
  await ledger.settlements.move(paid.id, 'held', reason);
  const [row] = await ledger.attempts.of(paid.id);
  if (row === undefined || row.nonceAccount === null) throw new Error('it carries a nonce');
  return { paid, preparation, used: { address: row.nonceAccount, nonce: row.blockhash } };
}

async function statesOf(id: string): Promise<readonly string[]> {
  return (await ledger.attempts.of(id)).map(({ state }) => state);
}

async function finalizedNonce(address: string): Promise<string | undefined> {
  return readNonceAccount((await chain.accounts([address])).accounts[0] ?? null)?.nonce;
}

/** What a thief with the key would do: all but `left` lamports leave the hot wallet. */
async function drain(left: bigint): Promise<void> {
  const { blockhash } = await chain.latestBlockhash();
  const transfer = SystemProgram.transfer({
    fromPubkey: HOT_KEY.publicKey,
    toPubkey: Keypair.generate().publicKey,
    lamports: (await lamports(HOT)) - left,
  });
  const message = new TransactionMessage({
    payerKey: HOT_KEY.publicKey,
    recentBlockhash: blockhash,
    instructions: [transfer],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([HOT_KEY]);
  await chain.send(Buffer.from(transaction.serialize()).toString('base64'));
  await expect.poll(() => lamports(HOT), { timeout: 20_000 }).toBe(left - 5_000n);
}
