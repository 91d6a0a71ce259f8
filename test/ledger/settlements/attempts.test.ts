import { describe, expect, it } from 'vitest';
import { LIVE_STATES } from '../../../src/ledger/settlements/attempt-row.ts';
import {
  attempt,
  codeOf,
  DEAD,
  openReservations,
  PLENTY,
  REASON,
  reserved,
  signed,
  solNeed,
  useLedger,
} from '../support.ts';

const use = useLedger();

describe('preparing an attempt', () => {
  it('stores every field without loss and moves the withdrawal', async () => {
    const id = await reserved(use.ledger);
    const input = attempt(id, 1, { feeLamports: 2n ** 63n, blockhashSlot: 2n ** 60n, rentLamports: 1n });
    const result = await use.ledger.attempts.prepare(input, PLENTY);
    expect(result).toMatchObject({
      kind: 'prepared',
      attempt: { ...input, state: 'prepared', signature: null, proof: null },
    });
    expect((await use.ledger.withdrawals.get(id)).status).toBe('preparing');
  });

  it('returns the recorded row when it is repeated, also with other bytes and in parallel', async () => {
    const id = await reserved(use.ledger);
    const wishes = Array.from({ length: 10 }, (_, index) =>
      attempt(id, 1, { messageHash: index.toString(16).padStart(63, 'a').padEnd(64, 'f') }),
    );
    const results = await Promise.all(wishes.map((wish) => use.ledger.attempts.prepare(wish, PLENTY)));
    const hashes = results.map((result) =>
      result.kind === 'prepared' ? result.attempt.messageHash : 'short',
    );
    expect(new Set(hashes).size).toBe(1);
    expect(await use.ledger.attempts.of(id)).toHaveLength(1);
  });

  it('is refused while an earlier attempt is not proved dead', async () => {
    const id = await signed(use.ledger);
    expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 2), PLENTY))).toBe('IllegalTransition');
    await use.ledger.attempts.settle(id, 1, DEAD);
    expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 3), PLENTY))).toBe('IllegalTransition');
    expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 2), PLENTY))).toBe('none');
    const states = (await use.ledger.attempts.of(id)).map((row) => row.state);
    expect(states).toEqual(['dead', 'prepared']);
  });

  it('is refused for ever once an attempt landed or failed', async () => {
    for (const state of ['landed', 'failed'] as const) {
      const id = await signed(use.ledger);
      await use.ledger.attempts.settle(id, 1, { state, slot: 7n, proof: null });
      expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 2), PLENTY))).toBe('IllegalTransition');
    }
  });

  it('is refused for a withdrawal that has ended', async () => {
    for (const status of ['cancelled', 'rejected'] as const) {
      const id = await reserved(use.ledger);
      await use.ledger.settlements.move(id, status, REASON);
      expect(await codeOf(use.ledger.attempts.prepare(attempt(id), PLENTY))).toBe('IllegalTransition');
    }
  });

  it('is refused by the database itself where two attempts would be live', async () => {
    const id = await signed(use.ledger);
    const second = { ...attempt(id, 2), kind: 'withdrawal', signatures: [null], state: 'prepared' as const };
    await expect(use.ledger.db.insertInto('attempt').values(second).execute()).rejects.toMatchObject({
      constraint: 'attempt_one_live',
    });
  });

  it('gives a message to one withdrawal, and the other must compose again', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => reserved(use.ledger)));
    const messageHash = 'c0ffee'.padEnd(64, '0');
    const codes = await Promise.all(
      ids.map((id) =>
        codeOf(
          use.ledger.attempts.prepare(
            attempt(id, 1, { messageHash }),
            solNeed(7n, 10n ** 9n, { wallet: 'equal' }),
          ),
        ),
      ),
    );
    expect(codes.filter((code) => code === 'none')).toHaveLength(1);
    expect(codes.filter((code) => code === 'MessageTaken')).toHaveLength(7);
    expect(await openReservations(use.ledger, 'equal', 'SOL')).toBe(7n);
  });
});

describe('storing the signature', () => {
  it('happens once: the same signature again succeeds, and another is never stored (signers with fresh randomness)', async () => {
    const id = await signed(use.ledger);
    const again = await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
    expect(again).toMatchObject({ state: 'signed', signature: `sig-${id}` });
    expect((await use.ledger.withdrawals.get(id)).status).toBe('sending');
    expect(await use.ledger.attempts.storeSignature(id, 1, 'other')).toEqual(again);
    expect(await use.ledger.attempts.get(id, 1)).toEqual(again);
  });

  it('ends a hold of an attempt that the signer refused before', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.attempts.prepare(attempt(id), PLENTY);
    await use.ledger.settlements.move(id, 'held', REASON);
    await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'sending', reason: null });
  });

  it('is refused once the attempt is dead, so that a late signature is never sent', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.attempts.prepare(attempt(id), PLENTY);
    await use.ledger.attempts.settle(id, 1, DEAD);
    expect(await codeOf(use.ledger.attempts.storeSignature(id, 1, 'late'))).toBe('IllegalTransition');
  });

  it('never succeeds together with the death of the attempt', async () => {
    for (let round = 0; round < 15; round += 1) {
      const id = await reserved(use.ledger);
      await use.ledger.attempts.prepare(attempt(id), PLENTY);
      await Promise.all([
        codeOf(use.ledger.attempts.storeSignature(id, 1, `sig-${id}`)),
        use.ledger.attempts.settle(id, 1, DEAD),
      ]);
      const row = await use.ledger.attempts.get(id, 1);
      expect(row.state).toBe('dead');
    }
  });

  it('is refused for an attempt that was not prepared', async () => {
    const id = await reserved(use.ledger);
    expect(await codeOf(use.ledger.attempts.storeSignature(id, 1, 's'))).toBe('NotFound');
    expect(await codeOf(use.ledger.attempts.get(id, 1))).toBe('NotFound');
  });
});

describe('settling an attempt', () => {
  it('stores the verdict with its proof, once (thirdweb engine)', async () => {
    const id = await signed(use.ledger);
    const outcome = {
      state: 'landed',
      slot: 2n ** 55n,
      feeLamports: 6n,
      rentLamports: 7n,
      proof: { heights: [2n ** 60n], nodes: ['a'] },
    } as const;
    const row = await use.ledger.attempts.settle(id, 1, outcome);
    expect(row).toMatchObject({ state: 'landed', slot: 2n ** 55n, feeLamports: 6n, rentLamports: 7n });
    expect(row.proof).toEqual({ heights: [(2n ** 60n).toString()], nodes: ['a'] });
    expect(await use.ledger.attempts.settle(id, 1, { ...outcome, proof: 'another' })).toEqual(row);
    for (const state of ['failed', 'dead'] as const) {
      expect(await codeOf(use.ledger.attempts.settle(id, 1, { state, slot: 1n, proof: {} }))).toBe(
        'IllegalTransition',
      );
    }
  });

  it('accepts no verdict on another signature than the recorded one', async () => {
    const id = await signed(use.ledger);
    const other = use.ledger.attempts.settle(id, 1, { ...DEAD, signature: 'of a run from before a restore' });
    expect(await codeOf(other)).toBe('IllegalTransition');
    expect((await use.ledger.attempts.get(id, 1)).state).toBe('signed');
  });

  it('moves the withdrawal in the same step, and a repeated death rewinds nothing', async () => {
    const { attempts, withdrawals } = use.ledger;
    const id = await signed(use.ledger);
    await attempts.settle(id, 1, DEAD);
    expect((await withdrawals.get(id)).status).toBe('preparing');
    await attempts.prepare(attempt(id, 2), PLENTY);
    await attempts.storeSignature(id, 2, `second-${id}`);
    await attempts.settle(id, 1, DEAD);
    expect((await withdrawals.get(id)).status).toBe('sending');
    await attempts.settle(id, 2, { state: 'landed', slot: 9n, proof: {}, amountReceived: 5n });
    expect(await withdrawals.get(id)).toMatchObject({ status: 'finalized', amountReceived: 5n });
  });

  it('forbids every wait and every end without payment while an attempt is not dead', async () => {
    const { attempts, settlements, withdrawals } = use.ledger;
    const id = await reserved(use.ledger);
    await attempts.prepare(attempt(id), PLENTY);
    const reason = { code: 'late', message: 'a slow step found no money' };
    for (const to of ['awaiting_funds', 'awaiting_confirmation', 'rejected'] as const) {
      expect(await codeOf(settlements.move(id, to, reason))).toBe('IllegalTransition');
    }
    expect((await withdrawals.get(id)).status).toBe('preparing');
  });

  it('needs a slot for a landing and a proof for a death', async () => {
    const id = await signed(use.ledger);
    for (const bad of [
      { state: 'landed', proof: {} },
      { state: 'failed', proof: {} },
      { state: 'dead', proof: null },
    ] as const) {
      await expect(use.ledger.attempts.settle(id, 1, bad)).rejects.toThrow();
    }
    expect((await use.ledger.attempts.get(id, 1)).state).toBe('signed');
  });

  it('removes the attempt from the live ones', async () => {
    const id = await signed(use.ledger);
    const isLive = async () => LIVE_STATES.includes((await use.ledger.attempts.get(id, 1)).state);
    expect(await isLive()).toBe(true);
    await use.ledger.attempts.settle(id, 1, {
      state: 'failed',
      slot: 3n,
      error: 'custom program error: 0x1',
      proof: null,
    });
    expect(await isLive()).toBe(false);
  });
});
