import type { Database, Trx } from '../database.ts';
import { Groups } from '../groups.ts';
import type { AttemptOutcome, AttemptRow } from './attempt-row.ts';
import type { EventsByKind } from './settlement-row.ts';

/** A verdict that an attempt has landed, with the signature that was judged and the amount that was received. */
export type AttemptLanding = Pick<AttemptOutcome, 'slot' | 'feeLamports' | 'rentLamports' | 'proof'> & {
  readonly settlementId: string;
  readonly n: number;
  readonly signature: string;
  readonly amountReceived: bigint;
};

/**
 * The usual changes of a kind's settlements, for many of them in one transaction. Each locks the settlements, and returns
 * those that it has changed. The caller changes the others one by one.
 */
export interface KindGroups {
  /** `sending` to `confirmed`. */
  confirm(trx: Trx, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** `sending` or `confirmed` to `finalized`. */
  land(trx: Trx, landings: readonly AttemptLanding[]): Promise<ReadonlyMap<string, AttemptRow>>;
}

/** Changes settlements together with the others of their kind that change at the same time. */
export class Together {
  readonly #confirmations: Groups<string, boolean>;
  readonly #landings: Groups<AttemptLanding, AttemptRow | undefined>;

  constructor(db: Database, groups: KindGroups) {
    this.#confirmations = new Groups(async (ids) => {
      const confirmed = await db.transaction().execute((trx) => groups.confirm(trx, ids));
      return (id) => confirmed.has(id);
    });
    this.#landings = new Groups(async (landings) => {
      const landed = await db.transaction().execute((trx) => groups.land(trx, landings));
      return ({ settlementId }) => landed.get(settlementId);
    });
  }

  /** False if the caller must make the change alone, also after an error: each change is idempotent. */
  confirm(id: string): Promise<boolean> {
    return this.#confirmations.add(id).catch(() => false);
  }

  /** Undefined if the caller must make the change alone, as for {@link confirm}. */
  async land(
    settlementId: string,
    n: number,
    { state, signature, amountReceived, ...outcome }: AttemptOutcome,
  ): Promise<AttemptRow | undefined> {
    if (state !== 'landed' || signature === undefined || signature === null || amountReceived === undefined)
      return undefined;
    return this.#landings
      .add({ ...outcome, settlementId, n, signature, amountReceived })
      .catch(() => undefined);
  }
}

/** For each kind whose events have groups. */
export function togetherByKind(db: Database, eventsByKind: EventsByKind): ReadonlyMap<string, Together> {
  return new Map(
    Object.entries(eventsByKind).flatMap(([kind, events]) =>
      events?.groups === undefined ? [] : [[kind, new Together(db, events.groups)]],
    ),
  );
}
