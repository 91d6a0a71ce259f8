import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

export const dueAudits = inOrder([
  sql`create index deposit_address_due_after on deposit_address ((coalesce(imported_after, 0))) where audit_due`,
]);
