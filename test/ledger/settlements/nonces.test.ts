import { describe, expect, it } from 'vitest';
import {
  advanceSubject,
  NONCE_ADVANCE,
  NONCE_CREATE,
  settlementId,
} from '../../../src/domain/settlement-kinds.ts';
import type { NewAttempt } from '../../../src/ledger/settlements/attempts.ts';
import { attempt, DEAD, newId, PLENTY, resume, solNeed, useLedger } from '../support.ts';
import { terms } from '../terms.ts';

const use = useLedger();
let serial = 0;

/** A free account of a new wallet, with the value `nonce`. */
async function freeAccount(nonce: string) {
  serial += 1;
  const wallet = `wallet-${serial}`;
  const { address } = await use.ledger.nonces.register(wallet, (position) => `${wallet}/${position}`);
  await use.ledger.nonces.prove(address, { nonce, slot: 7n });
  return { wallet, address };
}

async function carrying(nonceAccount: string, blockhash: string): Promise<NewAttempt> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  const life = { blockhash, blockhashHeight: null, lastValidBlockHeight: null, nonceAccount };
  return attempt(id, 1, life);
}

function stateOf(address: string) {
  return use.ledger.nonces.get(address);
}

describe('a nonce account', () => {
  it('is numbered by its wallet, however many are registered at once', async () => {
    const rows = await Promise.all(
      Array.from({ length: 5 }, () => use.ledger.nonces.register('many', (position) => `many/${position}`)),
    );
    expect(new Set(rows.map(({ position }) => position))).toEqual(new Set([1, 2, 3, 4, 5]));
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['unproved']));
  });

  it('is leased with the attempt, to one withdrawal of many', async () => {
    const { address } = await freeAccount('v1');
    const wishes = await Promise.all(Array.from({ length: 6 }, () => carrying(address, 'v1')));
    const results = await Promise.all(wishes.map((wish) => use.ledger.attempts.prepare(wish, PLENTY)));
    expect(results.filter(({ kind }) => kind === 'prepared')).toHaveLength(1);
    expect(results.filter(({ kind }) => kind === 'nonce_taken')).toHaveLength(5);
    const winner = wishes[results.findIndex(({ kind }) => kind === 'prepared')];
    expect(await stateOf(address)).toMatchObject({ state: 'leased', settlementId: winner?.settlementId });
  });

  it('is not leased where its nonce differs, or where the funds are missing', async () => {
    const { address } = await freeAccount('v2');
    expect(await use.ledger.attempts.prepare(await carrying(address, 'v1'), PLENTY)).toEqual({
      kind: 'nonce_taken',
    });
    const poor = solNeed(10n, 5n, { wallet: 'poor' });
    expect(await use.ledger.attempts.prepare(await carrying(address, 'v2'), poor)).toMatchObject({
      kind: 'short',
    });
    expect(await stateOf(address)).toMatchObject({ state: 'free', settlementId: null });
  });

  it('returns unproved, whatever the outcome of the attempt, and is free only with another nonce', async () => {
    const ends = [
      DEAD,
      { state: 'landed', slot: 9n, proof: null },
      { state: 'failed', slot: 9n, proof: null },
    ];
    for (const outcome of ends as readonly (typeof DEAD)[]) {
      const { address } = await freeAccount('v3');
      const wish = await carrying(address, 'v3');
      await use.ledger.attempts.prepare(wish, PLENTY);
      await use.ledger.attempts.storeSignature(wish.settlementId, 1, `s-${wish.settlementId}`);
      await use.ledger.nonces.prove(address, { nonce: 'v4', slot: 8n });
      expect(await stateOf(address), 'still leased').toMatchObject({ state: 'leased', nonce: 'v3' });
      await use.ledger.attempts.settle(wish.settlementId, 1, outcome);
      await use.ledger.nonces.prove(address, { nonce: 'v3', slot: 9n });
      expect(await stateOf(address)).toMatchObject({ state: 'unproved', settlementId: null, nonce: 'v3' });
      await use.ledger.nonces.prove(address, { nonce: 'v4', slot: 9n });
      expect(await stateOf(address)).toMatchObject({ state: 'free', nonce: 'v4' });
    }
  });

  it('gives its value to one attempt only, by a constraint of the database', async () => {
    const { address } = await freeAccount('v5');
    const [first, second] = [await carrying(address, 'v5'), await carrying(address, 'v5')];
    await use.ledger.attempts.prepare(first, PLENTY);
    await use.ledger.attempts.settle(first.settlementId, 1, DEAD);
    const again = { ...second, kind: 'withdrawal', signatures: [null], state: 'prepared' as const };
    await expect(use.ledger.db.insertInto('attempt').values(again).execute()).rejects.toMatchObject({
      constraint: 'attempt_nonce_once',
    });
    const heightless = { ...again, nonceAccount: null };
    await expect(use.ledger.db.insertInto('attempt').values(heightless).execute()).rejects.toMatchObject({
      constraint: 'attempt_lifetime',
    });
  });
});

describe('the creation and the advance of a nonce account', () => {
  it('keep their money from withdrawals until balances include the payment', async () => {
    const { address, wallet } = await freeAccount('v6');
    const id = settlementId(NONCE_CREATE, address);
    const signers = [wallet];
    await use.ledger.attempts.prepare(attempt(id, 1, { signers }), solNeed(100n, 150n, { wallet }));
    const spend = async (slot: bigint) => {
      const other = newId();
      await use.ledger.withdrawals.reserve(terms(other));
      return use.ledger.attempts.prepare(
        attempt(other, 1, { signers }),
        solNeed(60n, 150n, { wallet, slot }),
      );
    };
    expect(await spend(100n)).toMatchObject({ kind: 'short', missing: 10n });
    await use.ledger.attempts.storeSignature(id, 1, 'sig-upkeep');
    await use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 120n, proof: null });
    expect(await spend(119n)).toMatchObject({ kind: 'short' });
    expect(await spend(120n)).toMatchObject({ kind: 'prepared' });
    expect([...(await use.ledger.walletHistory.attemptsBySignature(['sig-upkeep']))]).toEqual([
      ['sig-upkeep', { settlementId: id, n: 1, state: 'landed', isAdopted: false, slot: 120n, error: null }],
    ]);
  });

  it('wait for the money of withdrawals, and run one at a time for an account', async () => {
    const { address, wallet } = await freeAccount('v7');
    const id = settlementId(NONCE_CREATE, address);
    const [first, second] = ['b', 'c'].map((hash) =>
      attempt(id, 1, { signers: [wallet], messageHash: hash.padEnd(64, '0') }),
    );
    if (first === undefined || second === undefined) throw new Error('there are two');
    expect(await use.ledger.attempts.prepare(first, solNeed(100n, 99n, { wallet }))).toMatchObject({
      kind: 'short',
    });
    const needs = solNeed(100n, 1_000n, { wallet });
    const rows = await Promise.all([first, second].map((one) => use.ledger.attempts.prepare(one, needs)));
    expect(rows[0]).toEqual(rows[1]);
  });

  it('use the nonce of the attempt that an advance ends, and lease nothing', async () => {
    const { address } = await freeAccount('v8');
    const ended = await carrying(address, 'v8');
    await use.ledger.attempts.prepare(ended, PLENTY);
    await use.ledger.nonces.requestAdvance({ address, nonce: 'v8' });
    const id = settlementId(NONCE_ADVANCE, advanceSubject({ address, nonce: 'v8' }));
    const { settlementId: _other, messageHash: _hash, ...life } = ended;
    const advance = attempt(id, 1, { ...life, bareAdvance: true, messageHash: 'd'.repeat(64) });
    expect(await use.ledger.attempts.prepare(advance, PLENTY)).toMatchObject({ kind: 'prepared' });
    expect(await stateOf(address)).toMatchObject({ state: 'leased', settlementId: ended.settlementId });
    await use.ledger.attempts.storeSignature(id, 1, 'sig-advance');
    await use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 9n, proof: null });
    expect(await stateOf(address)).toMatchObject({ state: 'leased', settlementId: ended.settlementId });
  });

  it('are not prepared while payments are paused', async () => {
    const { address } = await freeAccount('v9');
    const id = settlementId(NONCE_CREATE, address);
    await use.ledger.pauses.begin({ actor: 'ops', reason: 'a look' });
    expect(await use.ledger.attempts.prepare(attempt(id), PLENTY)).toMatchObject({
      kind: 'stopped',
      reason: { code: 'paused' },
    });
    await resume(use.ledger);
    expect((await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind).toBe('prepared');
  });
});
