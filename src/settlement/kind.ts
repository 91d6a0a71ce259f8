import { DomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { SigningTask } from '../domain/steps.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { AttemptRow, NewAttempt, ReservationInput } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Spending } from '../solana/proof/spending.ts';

/** Why no attempt can be composed. `kind` is the settlement's new status, or `needless` if no transaction is needed. */
export interface Refusal {
  readonly kind: 'rejected' | 'awaiting_confirmation' | 'awaiting_funds' | 'held' | 'needless';
  readonly reason: StatusReason;
}

/** An attempt to store and the money to reserve in each wallet, or a refusal. */
export type Composition =
  | {
      readonly kind: 'composed';
      readonly attempt: NewAttempt;
      readonly reservations: readonly ReservationInput[];
    }
  | Refusal;

/** Position and pricing of an attempt within its settlement. */
export interface AttemptPosition {
  readonly n: number;
  /** Changes the compute-unit price slightly, so that equal terms never make equal messages. */
  readonly salt: bigint;
  /**
   * Compute-unit price of the previous attempt, in micro-lamports. Null for the first attempt, or after a failure on
   * chain.
   */
  readonly lastPrice: bigint | null;
  /** Present if an attempt failed on chain: lower bound for the compute-unit limit, which is simulated again. */
  readonly minUnits?: number;
}

export type SignableAttempt = Pick<
  AttemptRow,
  'message' | 'feeLamports' | 'rentLamports' | 'signers' | 'signatures' | 'signature'
>;

export interface LandedAmounts {
  /** Lamports that left the fee payer, without the fee and the rent of accounts that the attempt created. */
  readonly movedLamports: bigint;
  /** Base units that reached the destination. Null if no node reports them. */
  readonly amountReceived: bigint | null;
}

/**
 * A kind of settlement: everything that the core does not know, in one object. The core (`settlement`,
 * `ledger/settlements`, `workflows/settle`) calls these members and never compares the name of a kind.
 *
 * `domain/settlement-kinds.ts` registers every kind, with its texts for operators. `platform/roles` builds each `Kind`
 * once for each worker that serves it. Two parts run in processes that build no `Kind`, so each is a separate object:
 * - `SigningRule`: the keys and the policy, in the signer, which loads no database client. `platform/roles/signer.ts`
 * has the table of rules.
 * - `KindEvents`: callbacks inside transactions of the database, which the API and the CLI run too.
 * `ledger/ledger.ts` has the table of callbacks.
 *
 * Both tables and the one of the chain worker are records over `SettlementKind`, so that a registered kind without one
 * of the parts does not compile. A workflow gets the signing tasks from `tasks`, or derives them from its own input.
 */
export interface Kind {
  /** Composes the message of the next attempt. Writes nothing. */
  compose(settlement: SettlementRow, position: AttemptPosition): Promise<Composition>;
  /** Runs `compose` when an attempt may be composed, for example under backpressure. Default: at once. */
  whenReady?<T>(compose: () => Promise<T>): Promise<T>;
  /** True if the confirmation that the settlement waits for has arrived. */
  isConfirmed?(settlement: SettlementRow): Promise<boolean>;
  /**
   * Signing tasks for our missing signatures, the fee payer's last. Other parties send their signatures by the
   * workflow update `giveSignature`. Default: the workflow derives the task from its own input.
   */
  tasks?(settlement: SettlementRow, attempt: SignableAttempt): Promise<readonly SigningTask[]>;
  /** Amounts that a landed attempt moved, apart from the fee and the planned rent. Default: none. */
  landedAmounts?(attempt: AttemptRow, spending: Spending): Promise<LandedAmounts>;
  /**
   * Runs after the end of the attempt is stored. A crash can skip this call, so required effects belong in the core.
   */
  afterAttemptEnd?(attempt: AttemptRow): Promise<void>;
  /** False if this process has no key for the settlement. Default: true. */
  hasKey?(settlement: SettlementRow): Promise<boolean>;
  /**
   * What to do with a settlement without a run: start it, leave it to another process that works on it, or cancel it
   * unless an attempt exists. Default: `start`.
   */
  onMissingRun?(settlement: SettlementRow): Promise<'start' | 'leave' | 'cancel'>;
  /** Input of the kind's own workflow. Default: the common settlement workflow, which needs only the id. */
  terms?(settlement: SettlementRow): Promise<WithdrawalTerms>;
}

/** The kinds that this process serves, by name. */
export type Kinds = Readonly<Partial<Record<string, Kind>>>;

/** The kind of a settlement or an attempt. Throws NotFound if this worker does not serve it. */
export function kindOf(kinds: Kinds, { kind }: Pick<SettlementRow, 'kind'>): Kind {
  const known = kinds[kind];
  if (known !== undefined) return known;
  throw new DomainError('NotFound', `this worker does not serve settlements of kind ${kind}`);
}
