import { DomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { SigningTask } from '../domain/steps.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { AttemptRow, NewAttempt, ReservationInput } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Spending } from '../solana/proof/spending.ts';

/** Why no attempt can be composed, and the settlement's new status. `needless`: no transaction is needed. */
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
  /** Compute-unit price of the attempt before, in micro-lamports. Null for the first, or after a failure on chain. */
  readonly lastPrice: bigint | null;
  /** Present if an attempt failed on chain: the compute-unit limit is simulated again and is at least this. */
  readonly minUnits?: number;
}

export type Signable = Pick<
  AttemptRow,
  'message' | 'feeLamports' | 'rentLamports' | 'signers' | 'signatures' | 'signature'
>;

export interface Landed {
  /** Lamports that left the fee payer, without the fee and the rent of accounts that the attempt created. */
  readonly movedLamports: bigint;
  /** Base units that reached the destination. Null if no node reports them. */
  readonly amountReceived: bigint | null;
}

/**
 * A kind of settlement: everything that the core does not know, in one object. The core (`settlement`,
 * `ledger/settlements`, `workflows/settle`) calls these members and never compares a kind's name.
 *
 * `SettlementKind` (domain) names every kind. `platform/roles` builds each object once for each worker that serves the
 * kind. Two parts run in processes that build no `Kind`, so each is an object of its own:
 * - `SigningRule`: the keys and the policy, in the signer, which loads no database client. `platform/roles/signer.ts`
 *   has the table.
 * - `KindEvents`: callbacks inside the ledger's transactions, which the API and the CLI run too. `ledger/ledger.ts` has
 *   the table.
 *
 * Both tables are records over `SettlementKind`, and so is the one of the chain worker: a kind without a part does not
 * compile. Workflows know no kind: a task's `kind` and `terms` come from `tasks`, or from the workflow's own input.
 */
export interface Kind {
  /** Composes the message of the next attempt. Writes nothing. */
  compose(settlement: SettlementRow, place: AttemptPosition): Promise<Composition>;
  /** Waits before an attempt is composed, for example backpressure. Default: none. */
  paced?<T>(compose: () => Promise<T>): Promise<T>;
  /** True if the confirmation that the settlement waits for has arrived. */
  isConfirmed?(settlement: SettlementRow): Promise<boolean>;
  /**
   * Signing tasks for our missing signatures, the fee payer's last. Signatures of other parties arrive by the
   * update `giveSignature`. Default: the workflow derives the task from its own input.
   */
  tasks?(settlement: SettlementRow, attempt: Signable): Promise<readonly SigningTask[]>;
  /** Default: only the fee and the planned rent. */
  landed?(attempt: AttemptRow, spending: Spending): Promise<Landed>;
  /** Runs after the attempt's end is stored. A crash may skip it: required effects belong in the core. */
  afterwards?(attempt: AttemptRow): Promise<void>;
  /** False if this process has no key for the settlement. Default: true. */
  isServed?(settlement: SettlementRow): Promise<boolean>;
  /** The input of the kind's own workflow. Default: the workflow of settlements, which needs only the id. */
  terms?(settlement: SettlementRow): Promise<WithdrawalTerms>;
}

/** The kinds that a process serves. */
export type Kinds = Readonly<Partial<Record<string, Kind>>>;

/** The kind of a settlement or an attempt. Throws NotFound if this worker does not serve it. */
export function kindOf(kinds: Kinds, { kind }: Pick<SettlementRow, 'kind'>): Kind {
  const known = kinds[kind];
  if (known !== undefined) return known;
  throw new DomainError('NotFound', `this worker knows no settlements of kind ${kind}`);
}
