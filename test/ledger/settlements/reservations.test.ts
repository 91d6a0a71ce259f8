import { describe, expect, it } from 'vitest';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { attempt, codeOf, DEAD, newId, openReservations, REASON, solNeed, useLedger } from '../support.ts';
import { terms } from '../terms.ts';

const use = useLedger();

async function reserved(count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => newId());
  await Promise.all(ids.map((id) => use.ledger.withdrawals.reserve(terms(id))));
  return ids;
}

async function one(): Promise<string> {
  const [id = ''] = await reserved(1);
  return id;
}

/** Prepares the first attempt and returns `prepared`, or the missing amounts. */
async function tryPrepare(
  id: string,
  reserve: ReturnType<typeof solNeed>,
  n = 1,
  ledger = use.ledger,
): Promise<string> {
  const result = await ledger.attempts.prepare(
    attempt(id, n, { signers: reserve.map(({ wallet }) => wallet) }),
    reserve,
  );
  return result.kind === 'short' ? `${result.asset} ${result.missing}` : result.kind;
}

async function finish(id: string, state: 'landed' | 'failed', slot: bigint): Promise<void> {
  await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
  await use.ledger.attempts.settle(id, 1, { state, slot, feeLamports: 5n, proof: null });
}

describe('a reservation', () => {
  it('never promises more than the wallet has, from two processes and all at once', async () => {
    const other = await openLedger(use.url);
    const ids = await reserved(50);
    const ask = solNeed(10n, 209n, { wallet: 'busy' });
    const results = await Promise.all(
      ids.map((id, index) => tryPrepare(id, ask, 1, index % 2 === 0 ? use.ledger : other)),
    );
    await other.close();
    expect(results.filter((result) => result === 'prepared')).toHaveLength(20);
    expect(new Set(results)).toEqual(new Set(['prepared', 'SOL 1']));
    expect(await openReservations(use.ledger, 'busy', 'SOL')).toBe(200n);
  });

  it('changes nothing when any amount is missing', async () => {
    const id = await one();
    const token = { asset: 'mint', amount: 8n, finalizedBalance: 5n, keep: 0n };
    const native = { asset: 'SOL', amount: 5n, finalizedBalance: 100n, keep: 0n };
    const reserve = [{ wallet: 'two', observedSlot: 1n, needs: [native, token] }];
    expect(await tryPrepare(id, reserve)).toBe('mint 3');
    expect(await use.ledger.attempts.of(id)).toEqual([]);
    expect((await use.ledger.withdrawals.get(id)).status).toBe('requested');
    expect(await openReservations(use.ledger, 'two', 'SOL')).toBe(0n);
    expect(
      await tryPrepare(id, [
        { wallet: 'two', observedSlot: 1n, needs: [native, { ...token, finalizedBalance: 8n }] },
      ]),
    ).toBe('prepared');
    expect(await openReservations(use.ledger, 'two', 'mint')).toBe(8n);
  });

  it('keeps the rent minimum, or leaves exactly zero where no other reservation is open', async () => {
    const [first = '', second = '', third = ''] = await reserved(3);
    const wallet = 'band';
    expect(await tryPrepare(first, solNeed(95n, 100n, { wallet, keep: 10n }))).toBe('SOL 5');
    expect(await tryPrepare(first, solNeed(40n, 100n, { wallet, keep: 10n }))).toBe('prepared');
    expect(await tryPrepare(second, solNeed(60n, 100n, { wallet, keep: 10n }))).toBe('SOL 10');
    expect(await tryPrepare(second, solNeed(50n, 100n, { wallet, keep: 10n }))).toBe('prepared');
    expect(await tryPrepare(third, solNeed(100n, 100n, { wallet: 'emptied', keep: 10n }))).toBe('prepared');
  });

  it('keeps wallets and assets apart', async () => {
    const [first = '', second = '', third = ''] = await reserved(3);
    expect(await tryPrepare(first, solNeed(10n, 10n, { wallet: 'left' }))).toBe('prepared');
    expect(await tryPrepare(second, solNeed(10n, 10n, { wallet: 'right' }))).toBe('prepared');
    const token = {
      wallet: 'left',
      observedSlot: 1n,
      needs: [{ asset: 'mint', amount: 10n, finalizedBalance: 10n, keep: 0n }],
    };
    expect(await tryPrepare(third, [token])).toBe('prepared');
  });
});

describe('a reservation after the end of its attempt', () => {
  it('counts, once landed, only against balances read before that slot', async () => {
    const [first = '', second = ''] = await reserved(2);
    const wallet = 'slots';
    await tryPrepare(first, solNeed(60n, 100n, { wallet, slot: 500n }));
    await finish(first, 'landed', 510n);
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(0n);
    expect(await tryPrepare(second, solNeed(50n, 100n, { wallet, slot: 509n }))).toBe('SOL 10');
    expect(await tryPrepare(second, solNeed(40n, 40n, { wallet, slot: 510n }))).toBe('prepared');
  });

  it('is the fee alone when the transaction failed', async () => {
    const [first = '', second = ''] = await reserved(2);
    const wallet = 'fees';
    await tryPrepare(first, solNeed(60n, 100n, { wallet, slot: 500n }));
    await finish(first, 'failed', 510n);
    await use.ledger.settlements.move(first, 'failed', REASON);
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(0n);
    expect(await tryPrepare(second, solNeed(96n, 100n, { wallet, slot: 509n }))).toBe('SOL 1');
    expect(await tryPrepare(second, solNeed(95n, 95n, { wallet, slot: 510n }))).toBe('prepared');
  });

  it('stays open after a death and passes to the next attempt at its new size', async () => {
    const [first = '', second = ''] = await reserved(2);
    const wallet = 'retry';
    await tryPrepare(first, solNeed(60n, 100n, { wallet }));
    await use.ledger.attempts.settle(first, 1, DEAD);
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(60n);
    expect(await tryPrepare(second, solNeed(50n, 100n, { wallet }))).toBe('SOL 10');
    expect(await tryPrepare(first, solNeed(101n, 100n, { wallet }), 2)).toBe('SOL 1');
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(60n);
    expect(await tryPrepare(first, solNeed(65n, 100n, { wallet }), 2)).toBe('prepared');
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(65n);
  });

  it('is released while the customer is asked, but kept while the payment waits for funds', async () => {
    const wallet = 'asked';
    const [first = '', second = ''] = await reserved(2);
    await tryPrepare(first, solNeed(60n, 100n, { wallet }));
    await use.ledger.attempts.settle(first, 1, DEAD);
    await use.ledger.settlements.move(first, 'awaiting_funds', REASON);
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(60n);
    await use.ledger.settlements.move(first, 'awaiting_confirmation', REASON);
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(0n);
    expect(await tryPrepare(second, solNeed(100n, 100n, { wallet }))).toBe('prepared');
    expect(await tryPrepare(first, solNeed(60n, 100n, { wallet }), 2)).toBe('SOL 60');
  });

  it('is released when the withdrawal ends without payment', async () => {
    const id = await one();
    await tryPrepare(id, solNeed(60n, 100n, { wallet: 'back' }));
    await use.ledger.attempts.settle(id, 1, DEAD);
    const before = await openReservations(use.ledger);
    expect(await codeOf(use.ledger.settlements.move(id, 'rejected', REASON))).toBe('none');
    expect(await openReservations(use.ledger)).toBe(before - 60n);
  });
});
