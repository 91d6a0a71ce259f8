import { expect, it } from 'vitest';
import { DomainError } from '../../src/domain/errors.ts';
import { readAttempt } from '../../src/ledger/settlements/attempt-row.ts';
import { waitIfRowLost } from '../../src/settlement/land.ts';
import { newId, useLedger } from '../ledger/support.ts';

const use = useLedger();

it('a NotFound error about another object is no lost record, and pauses no payment', async () => {
  const id = newId();
  const work = Promise.reject(new DomainError('NotFound', 'there is no mint', { id }));
  await expect(waitIfRowLost(use.ledger, { id, n: 1, signature: 'sig' }, work)).rejects.toMatchObject({
    code: 'NotFound',
  });
  expect((await use.ledger.alerts.list({ limit: 9 })).rows).toEqual([]);
});

it('a signed attempt without a row is a lost record, and pauses payments', async () => {
  const id = newId();
  const work = readAttempt(use.ledger.db, id, 1);
  await expect(waitIfRowLost(use.ledger, { id, n: 1, signature: 'sig' }, work)).rejects.toMatchObject({
    type: 'attempt_lost',
  });
  expect((await use.ledger.alerts.list({ open: true, limit: 9 })).rows).toMatchObject([
    { kind: 'attempt_lost', subject: id },
  ]);
});
