import { describe, expect, it } from 'vitest';
import { attempt, DEAD, newId, PLENTY, REASON, useLedger } from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();

async function reserved(): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  return id;
}

async function signed(): Promise<string> {
  const id = await reserved();
  await use.ledger.attempts.prepare(attempt(id), PLENTY);
  await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`, 'AQID');
  return id;
}

describe('unsent attempts', () => {
  const { lastValidBlockHeight } = attempt('any');
  const END = lastValidBlockHeight ?? 0n;

  it('are those that live for some blocks, are not signed, and were not refused', async () => {
    const { attempts, traffic, withdrawals } = use.ledger;
    const { living } = await traffic.unsent(END - 1n);
    await signed();
    const [waiting, refused] = [await reserved(), await reserved()];
    for (const id of [waiting, refused]) await attempts.prepare(attempt(id), PLENTY);
    expect(await traffic.unsent(END - 1n)).toEqual({ living: living + 2, overdue: 0 });
    await withdrawals.move(refused, 'held', REASON);
    expect(await traffic.unsent(END - 1n)).toEqual({ living: living + 1, overdue: 0 });
  });

  it('whose life is over count until the signer has signed a later one', async () => {
    const { attempts, traffic } = use.ledger;
    await signed();
    await attempts.prepare(attempt(await reserved()), PLENTY);
    expect(await traffic.unsent(END)).toEqual({ living: 0, overdue: 1 });
    const later = await signed();
    expect(await traffic.unsent(END)).toEqual({ living: 0, overdue: 0 });
    await attempts.settle(later, 1, DEAD);
    expect(await traffic.unsent(END)).toEqual({ living: 0, overdue: 0 });
  });
});

it('the newest attempts that have ended tell how many of them died', async () => {
  const { attempts, traffic } = use.ledger;
  for (const state of ['landed', 'dead', 'dead', 'landed', 'dead'] as const) {
    const id = await signed();
    await attempts.settle(id, 1, state === 'dead' ? DEAD : { state, slot: 7n, proof: {} });
  }
  expect(await traffic.newestEnds(4)).toEqual({ ended: 4, dead: 3 });
  expect(await traffic.newestEnds(2)).toEqual({ ended: 2, dead: 1 });
});
