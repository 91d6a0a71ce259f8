import { isTerminal, WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import type { Database } from './database.ts';
import { toWithdrawalRow, type WithdrawalRow } from './withdrawal-row.ts';

const UNFINISHED = WITHDRAWAL_STATUSES.filter((status) => !isTerminal(status));
const PAGE = 500;

/** Every withdrawal that has not ended, the oldest first, read page by page. */
export async function* unfinishedWithdrawals(db: Database): AsyncGenerator<WithdrawalRow> {
  for (let after = 0n; ; ) {
    const page = await db
      .selectFrom('withdrawal')
      .selectAll()
      .where('status', 'in', UNFINISHED)
      .where('position', '>', after)
      .orderBy('position')
      .limit(PAGE)
      .execute();
    yield* page.map(toWithdrawalRow);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.position;
  }
}
