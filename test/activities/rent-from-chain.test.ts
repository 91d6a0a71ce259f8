import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatUnits } from '../../src/domain/amount.ts';
import type { WithdrawalRow } from '../../src/ledger/withdrawals/withdrawals.ts';
import type { Composition } from '../../src/settlement/kind.ts';
import { priorityLamports } from '../../src/solana/tx/priority-fee.ts';
import {
  type CompositionFixture,
  FIRST_ATTEMPT,
  openCompositionFixture,
  withdrawalRow,
} from './composition-fixture.ts';

const RENT = 650_240n;
/** What a node answers for a message includes its priority fee. */
const FEE = 7_000n;
let fixture: CompositionFixture;

beforeAll(async () => {
  fixture = await openCompositionFixture();
});
afterEach(() => fixture.localnet.controls.clearFaults());
afterAll(() => fixture?.close());

const says = (method: string, result: unknown): void =>
  fixture.localnet.controls.setFault(0, method, { kind: 'result', result });
const compose = (row: WithdrawalRow): Promise<Composition> => fixture.composer().compose(row, FIRST_ATTEMPT);

async function composed(row: WithdrawalRow) {
  const answer = await compose(row);
  if (answer.kind !== 'composed') throw new Error(answer.reason.message);
  return answer;
}

describe('the rent of another chain', () => {
  it('sets the balance that the hot wallet keeps, and the smallest payment (ckSOL, ledger-live #21646, stakenet #325)', async () => {
    says('getMinimumBalanceForRentExemption', Number(RENT));
    const {
      reservations: [reservation],
    } = await composed(withdrawalRow('SOL', { amount: 1_000_000n }));
    expect(reservation?.needs).toMatchObject([{ asset: 'SOL', keep: RENT }]);
    expect(await compose(withdrawalRow('SOL', { amount: RENT - 1n }))).toMatchObject({
      kind: 'rejected',
      reason: {
        code: 'amount_below_minimum',
        message: expect.stringContaining(`minimum of ${formatUnits(RENT, 9)}`),
      },
    });
  });

  it('sets the reservation for a token account that must be created', async () => {
    says('getMinimumBalanceForRentExemption', Number(RENT));
    const {
      attempt,
      reservations: [reservation],
    } = await composed(withdrawalRow(fixture.localnet.mint.address));
    expect(attempt.rentLamports).toBe(RENT);
    expect(reservation?.needs[0]).toMatchObject({
      asset: 'SOL',
      amount: attempt.feeLamports + RENT,
      keep: RENT,
    });
  });
});

describe('the signature fee of another chain', () => {
  it('sets the fee that is reserved', async () => {
    const row = withdrawalRow('SOL', { amount: 1_000_000n });
    says('getFeeForMessage', { context: { slot: 1 }, value: Number(FEE) });
    const {
      attempt,
      reservations: [reservation],
    } = await composed(row);
    const { computeUnitLimit, computeUnitPriceMicroLamports, feeLamports } = attempt;
    expect(feeLamports).toBe(FEE + priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports));
    expect(reservation?.needs).toMatchObject([{ amount: row.amount + feeLamports }]);
  });
});
