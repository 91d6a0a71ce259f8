import { DomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { Preparation, Shown, Standing } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Kinds, kindOf } from '../settlement/kind.ts';
import { prepareNext } from '../settlement/prepare.ts';
import { notYet } from '../settlement/retry-later.ts';
import { signerOf } from '../settlement/signer-of.ts';
import { setAside, standingOf } from '../settlement/state.ts';
import type { SignerActivities } from './signing.ts';

/** Time between two looks for signatures from outside. */
const LOOK_MS = 5_000;

export interface SettlementsDeps {
  readonly ledger: Ledger;
  readonly kinds: Kinds;
  /** A signer of this process, for kinds whose callers wait for no other one. Default: the run asks the signer's workers. */
  readonly signer?: SignerActivities | undefined;
}

/** A settlement, by its id. */
export interface Named {
  readonly id: string;
}

/** The steps of settlements of whichever kind, beside signing and landing. Each may be repeated at will. */
export function createSettlementActivities(deps: SettlementsDeps) {
  const { ledger, kinds, signer } = deps;

  return {
    /** Where an earlier run left it. @throws NotFound */
    findSettlement: ({ id }: Named): Promise<Standing> => standing(deps, id),

    async prepareSettlement({ id, shown }: Named & { readonly shown: Shown }): Promise<Preparation> {
      const settlement = await ledger.settlements.get(id);
      const kind = kindOf(kinds, settlement);
      return prepareNext(
        { ledger, kind, sign: signer && ((task) => signer.signTransaction(task)) },
        settlement,
        shown,
      );
    },

    /** Stores a signature of another signer than the fee payer. @throws SigningRefused for one that is not over the message */
    async storeSignature(input: {
      readonly id: string;
      readonly n: number;
      readonly signature: string;
    }): Promise<void> {
      const { id, n, signature } = input;
      const signer = signerOf(await ledger.attempts.get(id, n), signature);
      if (signer === undefined)
        throw new DomainError('SigningRefused', `the signature for ${id}/${n} is not one of its signers`);
      await ledger.attempts.storeSignature(id, n, signature, signer);
    },

    /** Returns when all signers have signed the attempt, or it has ended, or is never to be sent. Until then it fails, to be tried again. */
    async awaitSignatures({ id, n }: { readonly id: string; readonly n: number }): Promise<Standing> {
      const { state } = await ledger.attempts.get(id, n);
      if (state === 'prepared' && !isPaidByDead(await ledger.settlements.get(id)))
        throw notYet('unsigned', 'signers outside of Sluice have not signed it yet', LOOK_MS);
      return standing(deps, id);
    },

    /** See {@link setAside}. */
    async holdSettlement({
      id,
      reason,
    }: {
      readonly id: string;
      readonly reason: StatusReason;
    }): Promise<Standing> {
      await setAside(ledger, id, reason);
      return standing(deps, id);
    },
  };
}

async function standing({ ledger, kinds }: SettlementsDeps, id: string): Promise<Standing> {
  const settlement = await ledger.settlements.get(id);
  return standingOf(ledger, settlement, kindOf(kinds, settlement));
}

export type SettlementActivities = ReturnType<typeof createSettlementActivities>;
