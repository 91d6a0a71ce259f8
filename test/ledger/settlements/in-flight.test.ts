import { describe, expect, it } from 'vitest';
import { NONCE_CREATE, settlementId } from '../../../src/domain/settlement-kinds.ts';
import { requestSettlements } from '../../../src/ledger/settlements/settlement-row.ts';
import { attempt, DEAD, PLENTY, REASON, reserved, signed, useLedger } from '../support.ts';

const use = useLedger();

describe('the list of unsent attempts', () => {
  const { lastValidBlockHeight } = attempt('any');
  const END = lastValidBlockHeight ?? 0n;

  it('has those that are valid for some more blocks, are not signed, and were not refused', async () => {
    const { attempts, settlements, inFlight } = use.ledger;
    const { living } = await inFlight.countUnsent('withdrawal', END - 1n);
    await signed(use.ledger);
    const [waiting, refused] = [await reserved(use.ledger), await reserved(use.ledger)];
    for (const id of [waiting, refused]) await attempts.prepare(attempt(id), PLENTY);
    expect(await inFlight.countUnsent('withdrawal', END - 1n)).toEqual({ living: living + 2, overdue: 0 });
    await settlements.move(refused, 'held', REASON);
    expect(await inFlight.countUnsent('withdrawal', END - 1n)).toEqual({ living: living + 1, overdue: 0 });
  });

  it('keeps expired ones until the signer has signed a later one', async () => {
    const { attempts, inFlight } = use.ledger;
    await signed(use.ledger);
    await attempts.prepare(attempt(await reserved(use.ledger)), PLENTY);
    expect(await inFlight.countUnsent('withdrawal', END)).toEqual({ living: 0, overdue: 1 });
    const later = await signed(use.ledger);
    expect(await inFlight.countUnsent('withdrawal', END)).toEqual({ living: 0, overdue: 0 });
    await attempts.settle(later, 1, DEAD);
    expect(await inFlight.countUnsent('withdrawal', END)).toEqual({ living: 0, overdue: 0 });
  });
});

it('the newest ended attempts of a kind give the share of dead ones', async () => {
  const { attempts, inFlight } = use.ledger;
  for (const state of ['landed', 'dead', 'dead', 'landed', 'dead'] as const) {
    const id = await signed(use.ledger);
    await attempts.settle(id, 1, state === 'dead' ? DEAD : { state, slot: 7n, proof: {} });
  }
  const other = settlementId(NONCE_CREATE, 'account');
  await requestSettlements(use.ledger.db, NONCE_CREATE, ['account']);
  await attempts.prepare(attempt(other), PLENTY);
  await attempts.storeSignature(other, 1, 'signature of another kind');
  await attempts.settle(other, 1, { state: 'landed', slot: 8n, proof: {} });
  expect(await inFlight.newestEnds('withdrawal', 4)).toEqual({ ended: 4, dead: 3 });
  expect(await inFlight.newestEnds(NONCE_CREATE, 4)).toEqual({ ended: 1, dead: 0 });
  expect(await inFlight.newestEnds('withdrawal', 2)).toEqual({ ended: 2, dead: 1 });
});
