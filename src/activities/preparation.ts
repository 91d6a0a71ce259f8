import { DomainError } from '../domain/errors.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Preparation, Shown } from '../domain/steps.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Kind } from '../settlement/kind.ts';
import { prepareNext } from '../settlement/prepare.ts';
import type { Chain } from '../solana/chain.ts';
import type { Composer } from './composition.ts';
import { readmitted } from './lost-record.ts';
import { Pace } from './pace.ts';
import { received } from './received.ts';
import type { WalletWatch } from './wallet-watch.ts';

export interface PreparationDeps {
  readonly ledger: Ledger;
  readonly composer: Composer;
  readonly walletWatch: Pick<WalletWatch, 'look'>;
  readonly chain: Pick<Chain, 'latestBlockhash'>;
}

/** Together less than the time that one try of the activity has, so that a long wait is a reason and no mere timeout. */
const PACE_DEADLINE_MS = 10_000;
const LOOK_DEADLINE_MS = 10_000;
export const LONGEST_WAITS_MS = PACE_DEADLINE_MS + LOOK_DEADLINE_MS;

/** Withdrawals, as the core settles them. */
export function withdrawalKind({ ledger, composer, walletWatch, chain }: PreparationDeps): Kind {
  const pace = new Pace(ledger, chain, WITHDRAWAL);
  return {
    compose: async ({ id }, { n, salt, lastPrice }) =>
      composer.compose(await ledger.withdrawals.get(id), n, salt, lastPrice),
    paced: (compose) =>
      pace.keep(PACE_DEADLINE_MS, async () => {
        await inTime(walletWatch.look());
        return compose();
      }),
    isConfirmed: async ({ id }) => (await ledger.withdrawals.get(id)).confirmedByCustomer,
    landed: async ({ id }, attempt) => received(await ledger.withdrawals.get(id), attempt),
  };
}

/** From a withdrawal on record to the next attempt on record. */
export function createPreparation({ ledger, kind }: { readonly ledger: Ledger; readonly kind: Kind }) {
  return {
    async prepareAttempt(input: {
      readonly terms: WithdrawalTerms;
      readonly shown: Shown;
    }): Promise<Preparation> {
      return prepareNext(ledger, kind, await readmitted(ledger, input.terms), input.shown);
    },
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
