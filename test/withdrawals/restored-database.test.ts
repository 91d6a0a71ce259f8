import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { onServer, urlOf } from '../support/template.ts';
import { until } from '../support/until.ts';
import { query, waitForStatus, wholeRound } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();

const databaseName = () => new URL(use.stack.databaseUrl).pathname.slice(1);

/** Executes statements on the server of the database, through another database. */
async function outside(...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await onServer(urlOf(use.stack.databaseUrl, 'postgres'), statement);
}

/** A complete copy of the current database; all sessions are closed. */
function backUp(): Promise<void> {
  return outside(
    `alter database ${databaseName()} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseName()}'`,
    `create database ${databaseName()}_backup template ${databaseName()}`,
    `alter database ${databaseName()} allow_connections true`,
  );
}

/** Replaces the database by the copy. */
function restore(): Promise<void> {
  return outside(
    `alter database ${databaseName()}_backup allow_connections true`,
    `drop database ${databaseName()} with (force)`,
    `alter database ${databaseName()}_backup rename to ${databaseName()}`,
  );
}

async function openAlerts(): Promise<readonly (readonly [kind: string, subject: string])[]> {
  const rows = await query<{ kind: string; subject: string }>(
    use.stack,
    'select kind, subject from alert where closed_at is null order by position',
  );
  return rows.map(({ kind, subject }) => [kind, subject]);
}

async function resume(): Promise<void> {
  await query(
    use.stack,
    `update pause set ended_at = now(), ended_by = 'the test', ended_reason = 'looked at' where ended_at is null`,
  );
}

function pay(id: string, destination: string, acceptEmptyWallet = true) {
  return use.sluice.withdraw({ id, asset: 'SOL', amount: '3000000', destination, acceptEmptyWallet });
}

async function nextRound(schedule: 'restartUnfinished' | 'walletWatch'): Promise<void> {
  await use.temporal.schedule.getHandle(schedule).trigger();
}

describe('a database restored from a backup before the last attempts', () => {
  const paidSince = newAddress();
  const onItsWay = newAddress();
  const later = newAddress();

  it('stops all preparations, and no withdrawal is paid twice', async () => {
    const { sluice } = use;
    await pay('before', newAddress());
    expect((await sluice.waitForFinal('before')).status).toBe('finalized');
    await pay('paid-since', paidSince, false);
    await waitForStatus(sluice, 'paid-since', 'awaiting_confirmation');
    await backUp();

    await sluice.confirm('paid-since');
    const paid = await sluice.waitForFinal('paid-since');
    expect(paid.status).toBe('finalized');
    await use.chain.swallowSends();
    await pay('on-its-way', onItsWay);
    await waitForStatus(sluice, 'on-its-way', 'sending');
    const signature = (await sluice.get('on-its-way')).attempts[0]?.signature ?? '';
    await restore();
    await use.chain.heal();

    // The restored database has no attempt; its wallet looks like any other wallet.
    expect(await waitForStatus(sluice, 'paid-since', 'awaiting_confirmation')).toMatchObject({
      attempts: [],
    });
    await nextRound('restartUnfinished');
    await pay('later', later);
    await waitForStatus(sluice, 'later', 'held');
    await until(async () =>
      (await openAlerts()).some(([kind, subject]) => kind === 'attempt_lost' && subject === 'on-its-way'),
    );
    await waitForStatus(sluice, 'paid-since', 'held');
    const lostSignature = paid.attempts.at(-1)?.signature ?? '';
    await until(async () => (await openAlerts()).some(([, subject]) => subject === lostSignature));
    expect(await openAlerts()).toEqual(
      expect.arrayContaining([
        ['unknown_spend', lostSignature],
        ['maybe_paid', 'paid-since'],
        ['attempt_lost', 'on-its-way'],
      ]),
    );
    expect(signature).not.toBe('');
    expect(await use.chain.paymentsTo(paidSince)).toHaveLength(1);
    expect((await use.chain.paymentsTo(onItsWay)).length).toBeLessThanOrEqual(1);
    expect(await use.chain.paymentsTo(later)).toEqual([]);
  }, 240_000);

  it('stays stopped after a resume until every lost attempt has landed or has expired', async () => {
    const { sluice } = use;
    await resume();
    const stopped = await waitForStatus(sluice, 'later', 'held');
    expect(stopped.attempts).toEqual([]);
    // A round sets the height at which the stop can end, and a later round ends it. Rounds of the same three seconds are one.
    await until(async () => {
      await use.chain.expireBlockhashes();
      await wholeRound(use.temporal, 'walletWatch');
      await sleep(1_000);
      return !(await openAlerts()).some(([kind]) => kind === 'database_restored');
    }, 200_000);
    // A transaction that the wallet signed before the restore and that landed since may have paused all withdrawals again.
    await resume();
    expect((await sluice.waitForFinal('later')).status).toBe('finalized');
    expect(await use.chain.paymentsTo(later)).toHaveLength(1);
    expect(await use.chain.paymentsTo(paidSince)).toHaveLength(1);
    expect(await sluice.get('paid-since')).toMatchObject({
      status: 'held',
      reason: { code: 'maybe_paid' },
      attempts: [],
    });
    await expect(sluice.cancel('paid-since')).rejects.toMatchObject({ code: 'DatabaseIncomplete' });
    expect(await sluice.endAsPaid('paid-since', 'the chain shows it')).toMatchObject({
      status: 'cancelled',
      reason: { code: 'paid_already' },
    });
    expect((await use.chain.paymentsTo(onItsWay)).length).toBeLessThanOrEqual(1);
  }, 300_000);
});

describe('an attempt that the database has as dead and the chain has as landed', () => {
  it('pauses all withdrawals, and its withdrawal is never paid again, resumed or not', async () => {
    const { sluice } = use;
    const destination = newAddress();
    await pay('dead-but-landed', destination);
    const { attempts } = await sluice.waitForFinal('dead-but-landed');
    const signature = attempts.at(-1)?.signature ?? '';
    await query(
      use.stack,
      `update attempt set state = 'dead', proof = '{"forged":true}' where settlement_id = 'dead-but-landed'`,
    );
    await query(use.stack, `update settlement set status = 'preparing' where id = 'dead-but-landed'`);
    await nextRound('restartUnfinished');
    await until(async () => (await sluice.get('dead-but-landed')).reason?.code === 'dead_attempt_landed');
    const held = await sluice.get('dead-but-landed');
    expect(held.status).toBe('held');
    expect(held.reason?.message).toContain(signature);
    expect(await openAlerts()).toContainEqual(['dead_attempt_landed', 'dead-but-landed']);
    await resume();
    const after = newAddress();
    await pay('after-the-alarm', after);
    expect((await sluice.waitForFinal('after-the-alarm')).status).toBe('finalized');
    expect(await sluice.get('dead-but-landed')).toMatchObject({ status: 'held' });
    expect(await use.chain.paymentsTo(destination)).toHaveLength(1);
  }, 120_000);
});
