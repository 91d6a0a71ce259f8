import { base64 } from '@scure/base';
import { SOL } from '../domain/deposit-asset.ts';
import { DomainError } from '../domain/errors.ts';
import { WITHDRAWAL } from '../domain/settlement-kinds.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { termsOf, type WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import { Backpressure } from '../settlement/backpressure.ts';
import type { Kind, LandedAmounts } from '../settlement/kind.ts';
import type { Chain } from '../solana/chain.ts';
import { decodeMessage } from '../solana/tx/message.ts';
import { withheldAmount } from '../solana/tx/token-transfer.ts';
import type { Composer } from './compose.ts';

export interface WithdrawalKindDeps {
  readonly ledger: Ledger;
  readonly composer: Composer;
  /** Reads the hot wallet's history up to now. */
  readonly walletWatch: { check(): Promise<void> };
  readonly chain: Pick<Chain, 'latestBlockhash'>;
}

/** Together shorter than the timeout of the activity, so that a long wait fails with a reason. */
const BACKPRESSURE_TIMEOUT_MS = 10_000;
const HISTORY_TIMEOUT_MS = 10_000;
export const MAX_WAIT_MS = BACKPRESSURE_TIMEOUT_MS + HISTORY_TIMEOUT_MS;

export function withdrawalKind({ ledger, composer, walletWatch, chain }: WithdrawalKindDeps): Kind {
  const backpressure = new Backpressure(ledger, chain, WITHDRAWAL);
  return {
    compose: async ({ id }, place) => composer.compose(await ledger.withdrawals.get(id), place),
    whenReady: (compose) =>
      backpressure.run(BACKPRESSURE_TIMEOUT_MS, async () => {
        await withTimeout(walletWatch.check());
        return compose();
      }),
    terms: async ({ id }) => termsOf(await ledger.withdrawals.get(id)),
    isConfirmed: async ({ id }) => (await ledger.withdrawals.get(id)).confirmedByCustomer,
    landedAmounts: async (attempt) => amountsOf(await ledger.withdrawals.get(attempt.settlementId), attempt),
  };
}

async function withTimeout(check: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    const error = new DomainError(
      'Unavailable',
      'the check of the history of the hot wallet has not ended in time: retry',
    );
    timer = setTimeout(() => reject(error), HISTORY_TIMEOUT_MS);
  });
  await Promise.race([check, timeout]).finally(() => clearTimeout(timer));
}

/**
 * Amounts that a landed withdrawal moved. The message has them: a transfer fails on chain if its declared fee differs
 * from the withheld one.
 */
function amountsOf({ asset, amount }: WithdrawalRow, { message }: AttemptRow): LandedAmounts {
  return {
    movedLamports: asset === SOL ? amount : 0n,
    amountReceived: amount - withheldAmount(decodeMessage(base64.decode(message))),
  };
}
