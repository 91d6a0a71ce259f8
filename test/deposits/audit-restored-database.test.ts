import { randomBytes } from 'node:crypto';
import { base58 } from '@scure/base';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import type { AuditCommand } from '../../src/domain/audit.ts';
import { runActivity } from '../support/activity.ts';
import { auditIn, dueAuditsIn } from './audit-support.ts';
import { useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const lies = useLiar(fixture);

const LAMPORTS = 7_000_000n;

/** A wallet that was paid before it was watched, and that is imported with that past. */
async function importedWithPast(): Promise<{ readonly wallet: string; readonly order: AuditCommand }> {
  await fixture.scanAll(fixture.scanner());
  const wallet = newAddress();
  await fixture.localnet.airdrop(wallet, LAMPORTS);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  return { wallet, order: await imported(wallet) };
}

async function imported(wallet: string): Promise<AuditCommand> {
  await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }], 1n);
  const order = (await dueAuditsIn(fixture)).find(({ address }) => address === wallet);
  if (order === undefined) throw new Error('an audit is due');
  return order;
}

function listed(signature: string, slot: number) {
  return { signature, slot, err: null, memo: null, blockTime: 1, confirmationStatus: 'finalized' };
}

async function stateOf(wallet: string): Promise<string | undefined> {
  return (await fixture.ledger.addresses.byAddress(wallet))?.state;
}

async function isDue(wallet: string): Promise<boolean | undefined> {
  return (await fixture.ledger.addresses.byAddress(wallet))?.auditDue;
}

async function judged(wallet: string): Promise<readonly (readonly [bigint, string])[]> {
  await fixture.confirm();
  return (await fixture.depositsOf(wallet)).map(({ amount, state }) => [amount, state]);
}

describe('an audit that runs during a restore of the database', () => {
  it('completes nothing in the restored database, and a new audit finds the deposit again', async () => {
    const { wallet, order } = await importedWithPast();
    const { db, continuity } = fixture.ledger;
    await continuity.pulse();
    const activities = createAddressAudit(fixture.deps());
    const page = await runActivity(() => activities.auditPage(order));
    expect(page).toMatchObject({ found: 1, remaining: 0, unread: 0 });
    // A backup from before this page.
    await sql`delete from deposit_event where deposit_id in (select id from deposit where wallet = ${wallet})`.execute(
      db,
    );
    await sql`delete from deposit where wallet = ${wallet}`.execute(db);
    await sql`update deposit_address set state = 'auditing' where address = ${wallet}`.execute(db);
    await sql`update continuity set identity = 'the old primary'`.execute(db);
    await runActivity(() => activities.closeAudit(order, page));
    expect(await isDue(wallet)).toBe(true);
    await continuity.quarantine(1n, null);
    await continuity.endGap(1n);
    await runActivity(() => activities.closeAudit(order, page));
    expect(await isDue(wallet)).toBe(true);
    const [anew] = await dueAuditsIn(fixture);
    expect(anew).toMatchObject({ address: wallet });
    expect(await auditIn(fixture, anew ?? order)).toMatchObject({ found: 1, remaining: 0 });
    expect(await isDue(wallet)).toBe(false);
    await sql`delete from continuity`.execute(db);
  });
});

describe('an audit with one lying node of three', () => {
  it('finds a deposit that the node hides', async () => {
    const { wallet, order } = await importedWithPast();
    lies.liar.edit = (method, _params, answer) => {
      if (method === 'getTransaction' && answer.result)
        answer.result.meta.postBalances = answer.result.meta.preBalances;
      return answer;
    };
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 1, remaining: 0, unread: 0 });
    expect(await judged(wallet)).toEqual([[LAMPORTS, 'final']]);
    expect(await stateOf(wallet)).toBe('used');
  });

  it('records a deposit in its true slot, whatever slot the node names', async () => {
    const { wallet, order } = await importedWithPast();
    lies.liar.edit = (method, _params, answer) => {
      if (method === 'getTransaction' && answer.result) answer.result.slot -= 1;
      return answer;
    };
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 1, remaining: 0, unread: 0 });
    expect(await judged(wallet)).toEqual([[LAMPORTS, 'final']]);
  });

  it('completes although the node lists transactions that do not exist', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = newAddress();
    const order = await imported(wallet);
    const never = base58.encode(randomBytes(64));
    lies.liar.edit = (method, _params, answer) =>
      method === 'getSignaturesForAddress' ? { ...answer, result: [listed(never, 2)] } : answer;
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ transactions: 0, unread: 0 });
    expect(await stateOf(wallet)).toBe('free');
  });

  it('completes although the node lists text that is no signature', async () => {
    const { wallet, order } = await importedWithPast();
    lies.liar.edit = (method, _params, answer) =>
      method === 'getSignaturesForAddress' ? { ...answer, result: [listed('none', 2)] } : answer;
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ transactions: 1, unread: 0 });
    expect(await judged(wallet)).toEqual([[LAMPORTS, 'final']]);
    expect(await stateOf(wallet)).toBe('used');
  });

  it('does not complete by the claim of the node that it has the history and that no deposit came', async () => {
    const { wallet, order } = await importedWithPast();
    const first = Number(order.to) + 1;
    const { controls } = fixture.localnet;
    for (const node of [1, 2]) {
      controls.setFault(node, 'getFirstAvailableBlock', { kind: 'result', result: first });
      controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    }
    lies.liar.edit = (method, _params, answer) => {
      if (method === 'getFirstAvailableBlock') return { ...answer, result: 0 };
      return method === 'getSignaturesForAddress' ? { ...answer, result: [] } : answer;
    };
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 0, unread: 1 });
    expect(await stateOf(wallet)).toBe('auditing');
    controls.clearFaults();
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 1, unread: 0 });
  });

  it('does not complete by transactions that only the node returns', async () => {
    const { wallet, order } = await importedWithPast();
    for (const node of [1, 2])
      fixture.localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result: null });
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 0, unread: 1 });
    fixture.localnet.controls.clearFaults();
    expect([await judged(wallet), await stateOf(wallet)]).toEqual([[], 'auditing']);
    expect(await auditIn(fixture, order, lies.pool)).toMatchObject({ found: 1, unread: 0 });
    // A deposit that is recorded, listed and no longer returned is unread, and is no difference.
    for (const node of [1, 2])
      fixture.localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result: null });
    const look = {
      address: wallet,
      from: order.from,
      to: order.to,
      repair: false,
      cause: 'operator',
    } as const;
    expect(await auditIn(fixture, look, lies.pool)).toMatchObject({ found: 0, unread: 1 });
  });
});
