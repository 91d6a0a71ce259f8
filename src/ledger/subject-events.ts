import type { Transaction } from 'kysely';
import type { AttemptOutcome, AttemptRow } from './attempt-row.ts';
import type { Tables } from './database.ts';
import type { SettlementRow } from './settlement-row.ts';

/** What happens to the subject of a settlement, each in the transaction that changes the settlement and under its lock. */
export interface SubjectEvents {
  /** Its status, or the code of its reason, is another one than before; `oldCode` is that of before. */
  changed?(trx: Transaction<Tables>, settlement: SettlementRow, oldCode: string | null): Promise<void>;
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
