import { DomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { DisplayedStatus, Preparation, SettlementState, SignedStep } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Kinds, kindOf } from '../settlement/kind.ts';
import { prepareNext } from '../settlement/prepare.ts';
import { signerOf } from '../settlement/signatures.ts';
import { holdUnlessEnded, retryLater, stateOf } from '../settlement/state.ts';
import type { SignerActivities } from './signing.ts';

/** Interval between two checks for signatures from outside Sluice. */
const SIGNATURE_CHECK_MS = 5_000;

export interface SettlementsDeps {
  readonly ledger: Ledger;
  readonly kinds: Kinds;
  /**
   * Signer in this process, for kinds whose callers wait for the result. Default: the workflow asks the signer workers.
   */
  readonly signer?: SignerActivities | undefined;
}

export interface WithSettlementId {
  readonly id: string;
}

/** Steps shared by all kinds of settlement, except signing and landing. Each is idempotent. */
export function createSettlementActivities(deps: SettlementsDeps) {
  const { ledger, kinds, signer } = deps;

  return {
    /** The state that earlier runs stored. @throws NotFound */
    findSettlement: ({ id }: WithSettlementId): Promise<SettlementState> => currentState(deps, id),

    async prepareSettlement({
      id,
      shown,
    }: WithSettlementId & { readonly shown: DisplayedStatus }): Promise<Preparation> {
      const settlement = await ledger.settlements.get(id);
      const kind = kindOf(kinds, settlement);
      return prepareNext(
        { ledger, kind, sign: signer && ((task) => signer.signTransaction(task)) },
        settlement,
        shown,
      );
    },

    /** Stores the signature of a signer other than the fee payer. @throws SigningRefused if it is not valid */
    async storeSignature({ id, n, signature }: SignedStep): Promise<void> {
      const signatory = signerOf(await ledger.attempts.get(id, n), signature);
      if (signatory === undefined)
        throw new DomainError(
          'SigningRefused',
          `the signature for attempt ${n} of ${id} is not a valid signature of one of its signers`,
        );
      await ledger.attempts.storeSignature(id, n, signature, signatory);
    },

    /**
     * Throws, so that Temporal retries, until all signers have signed, or the attempt has ended or must not be sent.
     */
    async awaitSignatures({ id, n }: Pick<SignedStep, 'id' | 'n'>): Promise<SettlementState> {
      const { state } = await ledger.attempts.get(id, n);
      if (state === 'prepared' && !isPaidByDead(await ledger.settlements.get(id)))
        throw retryLater(
          'unsigned',
          `signers outside Sluice have not signed attempt ${n} of ${id} yet`,
          SIGNATURE_CHECK_MS,
        );
      return currentState(deps, id);
    },

    /** See {@link holdUnlessEnded}. */
    async holdSettlement({
      id,
      reason,
    }: WithSettlementId & { readonly reason: StatusReason }): Promise<SettlementState> {
      await holdUnlessEnded(ledger, id, reason);
      return currentState(deps, id);
    },
  };
}

async function currentState({ ledger, kinds }: SettlementsDeps, id: string): Promise<SettlementState> {
  const settlement = await ledger.settlements.get(id);
  return stateOf(ledger, settlement, kindOf(kinds, settlement));
}

export type SettlementActivities = ReturnType<typeof createSettlementActivities>;
