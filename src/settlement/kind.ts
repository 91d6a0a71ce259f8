import { DomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { SigningTask } from '../domain/steps.ts';
import type { AttemptRow, NewAttempt, ReservationInput } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Spending } from '../solana/proof/spending.ts';

/** Why an attempt cannot be composed now, and the state that this puts the settlement in. `needless`: it is there without it. */
export interface Refusal {
  readonly kind: 'rejected' | 'awaiting_confirmation' | 'awaiting_funds' | 'held' | 'needless';
  readonly reason: StatusReason;
}

/** An attempt ready to be written, with the money it needs of each wallet, or why there is none. */
export type Composition =
  | {
      readonly kind: 'composed';
      readonly attempt: NewAttempt;
      readonly reservations: readonly ReservationInput[];
    }
  | Refusal;

/** The place of an attempt among those of its settlement. */
export interface Place {
  readonly n: number;
  /** Moves the compute-unit price a little, so that equal terms never make equal messages. */
  readonly salt: bigint;
  /** The compute-unit price of the attempt before, in micro-lamports; null for the first, and where that one failed in a block. */
  readonly lastPrice: bigint | null;
  /** Present where an attempt failed in a block: the limit of compute units is found anew, and is at least this. */
  readonly leastUnits?: number;
}

/** What a kind asks signatures for. */
export type Signable = Pick<
  AttemptRow,
  'message' | 'feeLamports' | 'rentLamports' | 'signers' | 'signatures' | 'signature'
>;

/** What a landed attempt brought about. */
export interface Landed {
  /** Lamports that left the fee payer beside its fee and the rent of accounts that it made. */
  readonly movedLamports: bigint;
  /** Base units that reached the destination; null where no node tells. */
  readonly amountReceived: bigint | null;
}

/**
 * A kind of settlements: all that the core does not know. What happens to its subjects in the core's transactions is in
 * `ledger/settlements/kinds.ts`; what the signer must find in its messages is in `signing/policy/`.
 */
export interface Kind {
  /** Turns the settlement into the message of its next attempt. Writes nothing. */
  compose(settlement: SettlementRow, place: Place): Promise<Composition>;
  /** The waits before an attempt is composed, such as back-pressure. Default: none. */
  paced?<T>(compose: () => Promise<T>): Promise<T>;
  /** Whether somebody has confirmed what the settlement was to wait for. */
  isConfirmed?(settlement: SettlementRow): Promise<boolean>;
  /**
   * What keys of ours are asked for: a task for each signature of theirs that is missing, the fee payer's last. Other signatures are
   * waited for: they come by the update `giveSignature`. Default: its own workflow asks, by what it was started with.
   */
  tasks?(settlement: SettlementRow, attempt: Signable): Promise<readonly SigningTask[]>;
  /** Default: nothing but the fee and the planned rent. */
  landed?(attempt: AttemptRow, spending: Spending): Promise<Landed>;
  /** Runs after an attempt has ended on record, and may be lost by a crash: what must happen does in the core's transaction. */
  afterwards?(attempt: AttemptRow): Promise<void>;
  /** False where these settings cannot serve it, as they have no key for it. Default: true. */
  isServed?(settlement: SettlementRow): Promise<boolean>;
}

/** By the name of the kind. */
export type Kinds = Readonly<Partial<Record<string, Kind>>>;

/** The kind of a settlement, or of an attempt. Throws NotFound where this worker has it not. */
export function kindOf(kinds: Kinds, { kind }: Pick<SettlementRow, 'kind'>): Kind {
  const known = kinds[kind];
  if (known !== undefined) return known;
  throw new DomainError('NotFound', `this worker knows no settlements of kind ${kind}`);
}
