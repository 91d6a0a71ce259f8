import { base64 } from '@scure/base';
import { SOL } from '../domain/deposit-asset.ts';
import { DomainError } from '../domain/errors.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { termsOf, type WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import { Backpressure } from '../settlement/backpressure.ts';
import type { Kind, Landed } from '../settlement/kind.ts';
import type { Chain } from '../solana/chain.ts';
import { decodeMessage } from '../solana/tx/message.ts';
import { withheldAmount } from '../solana/tx/token-transfer.ts';
import type { Composer } from './compose.ts';

export interface WithdrawalKindDeps {
  readonly ledger: Ledger;
  readonly composer: Composer;
  /** Reads the hot wallet's history up to now. */
  readonly walletWatch: { look(): Promise<void> };
  readonly chain: Pick<Chain, 'latestBlockhash'>;
}

/** Milliseconds. Together below the activity's timeout, so that a long wait fails with a reason. */
const PACE_DEADLINE_MS = 10_000;
const LOOK_DEADLINE_MS = 10_000;
export const LONGEST_WAITS_MS = PACE_DEADLINE_MS + LOOK_DEADLINE_MS;

export function withdrawalKind({ ledger, composer, walletWatch, chain }: WithdrawalKindDeps): Kind {
  const pace = new Backpressure(ledger, chain, WITHDRAWAL);
  return {
    compose: async ({ id }, place) => composer.compose(await ledger.withdrawals.get(id), place),
    paced: (compose) =>
      pace.keep(PACE_DEADLINE_MS, async () => {
        await inTime(walletWatch.look());
        return compose();
      }),
    terms: async ({ id }) => termsOf(await ledger.withdrawals.get(id)),
    isConfirmed: async ({ id }) => (await ledger.withdrawals.get(id)).confirmedByCustomer,
    landed: async (attempt) => received(await ledger.withdrawals.get(attempt.settlementId), attempt),
  };
}

async function inTime(look: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new DomainError('Unavailable', 'the history of the hot wallet is still being read');
    timer = setTimeout(() => reject(error), LOOK_DEADLINE_MS);
  });
  await Promise.race([look, late]).finally(() => clearTimeout(timer));
}

/** Amounts paid by a landed withdrawal. The chain fails a transfer whose declared fee differs from the withheld. */
function received({ asset, amount }: WithdrawalRow, { message }: AttemptRow): Landed {
  return {
    movedLamports: asset === SOL ? amount : 0n,
    amountReceived: amount - withheldAmount(decodeMessage(base64.decode(message))),
  };
}
