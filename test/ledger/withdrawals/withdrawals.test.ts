import { execFile } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { nodeProgram } from '../../../devkit/localstack/program.ts';
import { mayFollow } from '../../../src/domain/settlement.ts';
import { WITHDRAWAL_STATUSES, type WithdrawalStatus } from '../../../src/domain/withdrawal.ts';
import { openLedger } from '../../../src/ledger/ledger.ts';
import { COMPILED } from '../../support/compiled.ts';
import { emptyDatabase } from '../../support/postgres.ts';
import { attempt, codeOf, DEAD, newId, PLENTY, REASON, useLedger } from '../support.ts';
import { terms } from '../terms.ts';

const use = useLedger();

/** A withdrawal in `status`, written without the state machine. */
async function inStatus(status: WithdrawalStatus): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  await use.ledger.db.updateTable('settlement').set({ status }).where('id', '=', id).execute();
  return id;
}

describe('openLedger', () => {
  it('lets many processes start at once on an empty database, and one of them creates each row', async () => {
    const { url, drop } = await emptyDatabase();
    const { command, args } = nodeProgram(new URL('../reserve-process.ts', import.meta.url), [], COMPILED);
    const run = () => promisify(execFile)(command, [...args, url, '40'], { encoding: 'utf8' });
    const outputs = await Promise.all([run(), run(), run()]);
    const created = outputs.map((output) => Number(output.stdout));
    expect(created.reduce((sum, one) => sum + one, 0)).toBe(40);
    await drop();
  });

  it('reports that there is no database', async () => {
    await expect(openLedger('postgres://unknown@127.0.0.1:9/none')).rejects.toMatchObject({
      code: 'Unavailable',
    });
  });
});

describe('reserve', () => {
  it('stores every term without loss and returns the same row again', async () => {
    const wish = terms(newId(), { amount: '18446744073709551615', acceptEmptyWallet: true, memo: 'für Ω' });
    const first = await use.ledger.withdrawals.reserve(wish);
    expect(first.created).toBe(true);
    expect(first.row).toMatchObject({ ...wish, amount: 2n ** 64n - 1n, status: 'requested', reason: null });
    expect(await use.ledger.withdrawals.reserve(wish)).toEqual({ row: first.row, created: false });
  });

  it('refuses other terms under the same id', async () => {
    const id = newId();
    await use.ledger.withdrawals.reserve(terms(id));
    for (const changes of [
      { amount: '101' },
      { asset: 'x'.repeat(44) },
      { acceptEmptyWallet: true },
      { memo: 'm' },
    ]) {
      expect(await codeOf(use.ledger.withdrawals.reserve(terms(id, changes)))).toBe('TermsConflict');
    }
  });

  it('creates the withdrawal once, however many processes call it at once', async () => {
    const id = newId();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => use.ledger.withdrawals.reserve(terms(id))),
    );
    expect(answers.filter((answer) => answer.created)).toHaveLength(1);
  });
});

describe('a state change of a withdrawal', () => {
  it('follows the table of states, and every other step is refused', async () => {
    for (const from of WITHDRAWAL_STATUSES) {
      for (const to of WITHDRAWAL_STATUSES) {
        const id = await inStatus(from);
        const code = await codeOf(use.ledger.settlements.move(id, to, REASON));
        expect(`${from} -> ${to}: ${code}`).toBe(
          `${from} -> ${to}: ${mayFollow(from, to) ? 'none' : 'IllegalTransition'}`,
        );
        expect((await use.ledger.withdrawals.get(id)).status).toBe(mayFollow(from, to) ? to : from);
      }
    }
  });

  it('keeps the first reason of an end', async () => {
    const id = await inStatus('requested');
    await use.ledger.settlements.move(id, 'rejected', REASON);
    const again = await use.ledger.settlements.move(id, 'rejected', { code: 'later', message: 'later' });
    expect(again.reason).toEqual(REASON);
  });

  it('never ends a withdrawal without payment while an attempt is live', async () => {
    const id = await inStatus('requested');
    await use.ledger.attempts.prepare(attempt(id), PLENTY);
    for (const to of ['failed', 'rejected', 'cancelled'] as const) {
      expect(await codeOf(use.ledger.settlements.move(id, to, REASON))).toBe('IllegalTransition');
    }
    await use.ledger.attempts.settle(id, 1, DEAD);
    expect((await use.ledger.settlements.move(id, 'rejected', REASON)).status).toBe('rejected');
  });

  it('is refused for a withdrawal that was not reserved', async () => {
    expect(await codeOf(use.ledger.settlements.move('no-such-id', 'held'))).toBe('NotFound');
    expect(await codeOf(use.ledger.settlements.cancel('no-such-id', REASON))).toBe('NotFound');
    expect(await codeOf(use.ledger.withdrawals.confirmDestination('no-such-id'))).toBe('NotFound');
    expect(await use.ledger.withdrawals.find('no-such-id')).toBeUndefined();
  });
});

describe('a status observation of a signed attempt', () => {
  it('is stored while the attempt is signed, and never changes a verdict', async () => {
    const { settlements, withdrawals, attempts } = use.ledger;
    const id = await inStatus('requested');
    await attempts.prepare(attempt(id), PLENTY);
    expect(await settlements.note(id, 'sending', null)).toBe(false);
    await attempts.storeSignature(id, 1, `sig-${id}`);
    for (const to of ['confirmed', 'sending', 'held', 'confirmed'] as const) {
      expect(await settlements.note(id, to, to === 'held' ? REASON : null)).toBe(true);
      expect((await withdrawals.get(id)).status).toBe(to);
    }
    await attempts.settle(id, 1, DEAD);
    expect((await withdrawals.get(id)).status).toBe('preparing');
    expect(await settlements.note(id, 'sending', null)).toBe(false);
  });
});

describe('the customer', () => {
  it('confirms a destination only while the withdrawal waits for it, and may repeat that', async () => {
    const id = await inStatus('requested');
    expect(await codeOf(use.ledger.withdrawals.confirmDestination(id))).toBe('NotAwaitingConfirmation');
    await use.ledger.settlements.move(id, 'awaiting_confirmation', REASON);
    expect((await use.ledger.withdrawals.confirmDestination(id)).confirmedByCustomer).toBe(true);
    await use.ledger.settlements.move(id, 'preparing');
    expect(await codeOf(use.ledger.withdrawals.confirmDestination(id))).toBe('none');
  });

  it('cancels while no attempt may land: before the first, and after one that is proved dead', async () => {
    const id = await inStatus('awaiting_funds');
    expect((await use.ledger.settlements.cancel(id, REASON)).reason).toEqual(REASON);
    expect((await use.ledger.settlements.cancel(id, { code: 'x', message: 'x' })).reason).toEqual(REASON);
    const started = await inStatus('preparing');
    await use.ledger.attempts.prepare(attempt(started), PLENTY);
    expect(await codeOf(use.ledger.settlements.cancel(started, REASON))).toBe('NotCancellable');
    await use.ledger.attempts.storeSignature(started, 1, `sig-${started}`);
    expect(await codeOf(use.ledger.settlements.cancel(started, REASON))).toBe('NotCancellable');
    await use.ledger.attempts.settle(started, 1, DEAD);
    expect((await use.ledger.settlements.cancel(started, REASON)).status).toBe('cancelled');
    const unsigned = await inStatus('preparing');
    await use.ledger.attempts.prepare(attempt(unsigned), PLENTY);
    await use.ledger.attempts.settle(unsigned, 1, { ...DEAD, signature: null });
    expect((await use.ledger.settlements.cancel(unsigned, REASON)).status).toBe('cancelled');
  });

  it('cannot cancel during the insert of an attempt', async () => {
    const id = await inStatus('requested');
    let cancelling: Promise<string> = Promise.resolve('not asked');
    await use.ledger.db.transaction().execute(async (trx) => {
      await sql`select id from settlement where id = ${id} for update`.execute(trx);
      await trx
        .insertInto('attempt')
        .values({ ...attempt(id), kind: 'withdrawal', signatures: [null], state: 'prepared' })
        .execute();
      cancelling = codeOf(use.ledger.settlements.cancel(id, REASON));
      await setTimeout(200);
    });
    expect(await cancelling).toBe('NotCancellable');
    expect((await use.ledger.withdrawals.get(id)).status).toBe('requested');
  });

  it('either cancels or gets an attempt when both happen at once, never both', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const id = await inStatus('requested');
        const [cancelled, prepared] = await Promise.all([
          codeOf(use.ledger.settlements.cancel(id, REASON)),
          codeOf(use.ledger.attempts.prepare(attempt(id), PLENTY)),
        ]);
        const { status } = await use.ledger.withdrawals.get(id);
        const rows = (await use.ledger.attempts.of(id)).length;
        return `${cancelled} ${prepared} ${status} ${rows}`;
      }),
    );
    const allowed = ['none IllegalTransition cancelled 0', 'NotCancellable none preparing 1'];
    for (const outcome of outcomes) expect(allowed).toContain(outcome);
  });
});

describe('the list of withdrawals', () => {
  it('has pages from the newest on without gap or repetition, and filters', async () => {
    const destination = 'listed';
    const ids = Array.from({ length: 7 }, () => newId('list'));
    for (const id of ids) await use.ledger.withdrawals.reserve(terms(id, { destination }));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await use.ledger.withdrawals.list({ destination, limit: 3, cursor });
      seen.push(...page.rows.map((row) => row.id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids.toReversed());
    await use.ledger.settlements.move(seen[0] ?? '', 'held', REASON);
    const held = await use.ledger.withdrawals.list({ destination, status: 'held', asset: 'SOL', limit: 7 });
    expect(held.rows.map((row) => row.id)).toEqual([seen[0]]);
    expect(await codeOf(use.ledger.withdrawals.list({ limit: 1, cursor: "1' or 1=1" }))).toBe(
      'InvalidRequest',
    );
  });
});

it('a withdrawal has the position of its settlement, also where a process of an older release without that column recorded it', async () => {
  const [now, older] = [newId(), newId()];
  await use.ledger.withdrawals.reserve(terms(now));
  await sql`with settlement as (insert into settlement (id, kind, subject_id, status)
      values (${older}, 'withdrawal', ${older}, 'requested') returning id)
    insert into withdrawal (id, asset, amount, destination, accept_empty_wallet, fingerprint)
      select id, 'SOL', 1, 'a wallet', false, 'a fingerprint' from settlement`.execute(use.ledger.db);
  const { rows } = await sql<{ same: boolean }>`select withdrawal.position = settlement.position as same
    from withdrawal join settlement using (id) where id in (${now}, ${older})`.execute(use.ledger.db);
  expect(rows).toEqual([{ same: true }, { same: true }]);
});
