import type { Transaction } from 'kysely';
import type { SettlementStatus } from '../../domain/settlement.ts';
import type { Tables } from '../database.ts';
import type { AttemptOutcome, AttemptRow } from '../settlements/attempt-row.ts';
import type { SettlementRow } from '../settlements/settlement-row.ts';

export interface Before {
  readonly status: SettlementStatus;
  readonly code: string | null;
}

/** Callbacks of a kind, in the transaction that changes the settlement and under its lock. */
export interface SubjectEvents {
  /**
   * `confirmed`: callers are served once a node shows the settlement confirmed; an alert is raised if a fork reverts
   * that. Default: they wait for `finalized`.
   */
  readonly answersAt?: 'confirmed';
  /** The status or the reason code has changed. From `confirmed` to `sending`: a fork has reverted it. */
  changed?(trx: Transaction<Tables>, settlement: SettlementRow, before: Before): Promise<void>;
  /** An attempt is stored, and may be signed as soon as this transaction has committed. */
  prepared?(trx: Transaction<Tables>, settlement: SettlementRow, attempt: AttemptRow): Promise<void>;
  /** An attempt has landed, failed or died; the settlement is moved after this. */
  ended?(
    trx: Transaction<Tables>,
    settlement: SettlementRow,
    attempt: AttemptRow,
    outcome: AttemptOutcome,
  ): Promise<void>;
}

/** By kind. A kind that is not among them has no callbacks. */
export type Kinds = Readonly<Partial<Record<string, SubjectEvents>>>;
