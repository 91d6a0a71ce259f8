import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { toFailure } from '../../src/activities/failures.ts';
import { DomainError, NON_RETRYABLE_CODES } from '../../src/domain/errors.ts';
import { connect } from '../../src/ledger/connection.ts';
import { Withdrawals } from '../../src/ledger/withdrawals/withdrawals.ts';

it('an activity is retried when the database is unreachable', async () => {
  const db = connect('postgres://unknown@127.0.0.1:1/nothing');
  const error: unknown = await new Withdrawals(db).find('any').catch((caught: unknown) => caught);
  await db.destroy();
  const failure = toFailure(error);
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(ApplicationFailure);
  expect(NON_RETRYABLE_CODES).not.toContain(failure instanceof Error ? failure.name : '');
});

it('a domain error keeps its code, and says whether a retry can help', () => {
  const refused = toFailure(new DomainError('TermsConflict', 'taken', { id: 'a' }));
  expect(refused).toMatchObject({ type: 'TermsConflict', nonRetryable: true, details: [{ id: 'a' }] });
  expect(toFailure(new DomainError('NodeFault', 'odd'))).toMatchObject({ nonRetryable: false });
});
