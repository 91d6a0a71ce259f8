import { WITHDRAWAL } from '../../src/domain/settlement-kinds.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Kinds } from '../../src/settlement/kind.ts';
import { withdrawalKind } from '../../src/withdrawals/kind.ts';

/** Withdrawals for tests that only land them: composing throws. */
export function landedWithdrawals(ledger: Ledger): Kinds {
  const kind = withdrawalKind({
    ledger,
    composer: undefined as never,
    walletWatch: undefined as never,
    chain: undefined as never,
  });
  const compose = (): never => {
    throw new Error('this test lands what was composed');
  };
  return { [WITHDRAWAL]: { ...kind, compose } };
}
