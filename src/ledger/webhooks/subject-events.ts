import type { Transaction } from 'kysely';
import type { SettlementStatus } from '../../domain/settlement.ts';
import type { Tables } from '../database.ts';
import type { AttemptOutcome, AttemptRow } from '../settlements/attempt-row.ts';
import type { SettlementRow } from '../settlements/settlement-row.ts';

/** Where a settlement was before a change: its status, and the code of its reason. */
export interface Before {
  readonly status: SettlementStatus;
  readonly code: string | null;
}

/** What happens to the subject of a settlement, each in the transaction that changes the settlement and under its lock. */
export interface SubjectEvents {
  /**
   * `confirmed`: callers are answered, and served, as soon as a node shows a settlement confirmed. An alert is raised where a fork takes
   * that back. Default: they wait for `finalized`.
   */
  readonly answersAt?: 'confirmed';
  /** Its status, or the code of its reason, is another one than before. From `confirmed` to `sending`: a fork has taken it back. */
  changed?(trx: Transaction<Tables>, settlement: SettlementRow, before: Before): Promise<void>;
  /** An attempt is on record, and may be signed as soon as this transaction ends. */
  prepared?(trx: Transaction<Tables>, settlement: SettlementRow, attempt: AttemptRow): Promise<void>;
  /** Its attempt has landed, failed or died; what the settlement makes of that follows. */
  ended?(
    trx: Transaction<Tables>,
    settlement: SettlementRow,
    attempt: AttemptRow,
    outcome: AttemptOutcome,
  ): Promise<void>;
}

/** By kind. One that is not among them has nothing to do for its subject. */
export type Kinds = Readonly<Partial<Record<string, SubjectEvents>>>;
