import { sql } from 'kysely';
import type { Slots } from '../../domain/slots.ts';
import type { Database } from '../database.ts';

/** The slots that a node last showed of its ledger, and the newest range that it lost at once. */
export interface NodeLedger {
  readonly first: bigint;
  readonly finalized: bigint;
  readonly gap: Slots | null;
}

/** The last known ledger of each node, by name: after a restart a process must see what a node lost. */
export class NodeLedgers {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async all(): Promise<ReadonlyMap<string, NodeLedger>> {
    const rows = await this.#db.selectFrom('nodeLedger').selectAll().execute();
    return new Map(
      rows.map(({ node, firstSlot, finalizedSlot, gapFrom, gapTo }) => {
        const gap = gapFrom === null || gapTo === null ? null : { from: gapFrom, to: gapTo };
        return [node, { first: firstSlot, finalized: finalizedSlot, gap }];
      }),
    );
  }

  /** Stores these ledgers. A gap stays until the node has another one, because not every process has seen it. */
  async keep(seen: ReadonlyMap<string, NodeLedger>): Promise<void> {
    if (seen.size === 0) return;
    const rows = [...seen].map(([node, { first, finalized, gap }]) => ({
      node,
      firstSlot: first,
      finalizedSlot: finalized,
      gapFrom: gap?.from ?? null,
      gapTo: gap?.to ?? null,
    }));
    await this.#db
      .insertInto('nodeLedger')
      .values(rows.toSorted((a, b) => (a.node < b.node ? -1 : 1)))
      .onConflict((conflict) =>
        conflict.column('node').doUpdateSet((row) => ({
          firstSlot: row.ref('excluded.firstSlot'),
          finalizedSlot: row.ref('excluded.finalizedSlot'),
          gapFrom: sql<bigint | null>`coalesce(excluded.gap_from, node_ledger.gap_from)`,
          gapTo: sql<bigint | null>`coalesce(excluded.gap_to, node_ledger.gap_to)`,
        })),
      )
      .execute();
  }
}
