import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** Whether an attempt creates the receiver's token account. Null for other kinds and older processes. */
export const madeAccounts = inOrder([sql`alter table attempt add column creates_account boolean`]);
