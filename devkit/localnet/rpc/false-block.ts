import { SYSTEM_PROGRAM } from '../chain/programs.ts';
import type { Balances, TokenHolding, TransactionRecord } from '../chain/records.ts';

/**
 * What a node says falsely of the transactions in a block, which it names truly: it leaves the first one out, gives token accounts
 * another owner before, or another program, hides who signed, or garbles the mint.
 */
export const LIES = ['leave-out', 'other-owner', 'other-program', 'unsigned', 'garbled-mint'] as const;

/** With one that turns every payment round: who paid seems to have received, and the other way round. */
export const ALL_LIES = [...LIES, 'mirrored'] as const;

export type Lie = (typeof ALL_LIES)[number];

/** The transactions of a block as a node shows them that tells this lie. */
export function falseTransactions(
  records: readonly TransactionRecord[],
  lie: Lie,
): readonly TransactionRecord[] {
  switch (lie) {
    case 'leave-out':
      return records.slice(1);
    case 'mirrored':
      return records.map((record) => {
        const { before, after } = record.meta;
        return { ...record, meta: { ...record.meta, before: after, after: before } };
      });
    case 'unsigned':
      return records.map(unsigned);
    case 'other-owner':
      return records.map((record) => retold(record, 'before', { owner: SYSTEM_PROGRAM }));
    case 'other-program':
      return records.map((record) => retold(record, 'after', { programId: SYSTEM_PROGRAM }));
    case 'garbled-mint':
      return records.map((record) => retold(record, 'after', { mint: 'garbage' }));
  }
}

function unsigned(record: TransactionRecord): TransactionRecord {
  const { transaction } = record;
  const { message } = transaction;
  const header = { ...message.header, signatures: 0 };
  return { ...record, transaction: { ...transaction, message: { ...message, header } } };
}

function retold(
  record: TransactionRecord,
  side: 'before' | 'after',
  lie: Partial<TokenHolding>,
): TransactionRecord {
  const { meta } = record;
  const balances: Balances = { ...meta[side], tokens: meta[side].tokens.map((one) => ({ ...one, ...lie })) };
  return { ...record, meta: { ...meta, [side]: balances } };
}
