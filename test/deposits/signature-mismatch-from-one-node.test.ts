import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { rejectDeposit } from '../../src/http/deposits/deposit-rejection.ts';
import { depositId } from '../../src/ledger/deposits/deposit-id.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { runActivity } from '../support/activity.ts';
import { auditIn, dueAuditsIn } from './audit-support.ts';
import { makeFirstNodeFastest, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);
const OTHER = '5'.repeat(88);
const opened: NodePool[] = [];
afterEach(() => Promise.all(opened.splice(0).map((pool) => pool.close())));

/** The time by which a test has moved the clock. */
let passedMs = 0;
const now = performance.now.bind(performance);
beforeEach(() => {
  passedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
});
afterEach(() => vi.restoreAllMocks());

/** The lying node in a new pool, asked first. */
async function liarFirst(): Promise<NodePool> {
  const pool = await openNodePool(nodes.pool.nodes.map(({ url }) => url));
  opened.push(pool);
  await makeFirstNodeFastest(fixture, pool);
  nodes.liar.edit = (method, _params, answer) => {
    if (method === 'getTransaction' && answer.result) answer.result.transaction.signatures[0] = OTHER;
    return answer;
  };
  return pool;
}

async function look(confirmer: DepositConfirmer): Promise<void> {
  for (let looks = 0; looks < 3; looks += 1) {
    await confirmer.confirm();
    passedMs += 1_100;
  }
}

async function alerts(): Promise<readonly string[]> {
  const { rows } = await fixture.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, message }) => `${kind}: ${message}`);
}

describe('one lying node of three, asked first, that returns a real transaction under another signature', () => {
  it('does not keep a deposit from being finalized', async () => {
    const { wallet } = await fixture.unconfirmed();
    await look(new DepositConfirmer(fixture.deps(await liarFirst())));
    expect(await alerts()).toEqual([]);
    expect((await fixture.depositsOf(wallet)).map(({ state }) => state)).toEqual(['final']);
  });

  it('causes no blame of an honest node', async () => {
    await fixture.unconfirmed();
    const pool = await liarFirst();
    await look(new DepositConfirmer(fixture.deps(pool)));
    expect(
      pool
        .report()
        .slice(1)
        .map(({ demotion }) => demotion),
    ).toEqual([null, null]);
  });

  it('hides no deposit from an audit, and the audit records it under its own signature only', async () => {
    const row = await fixture.unconfirmed();
    await fixture.lose([row]);
    const order = {
      address: row.wallet,
      from: '1',
      to: `${row.slot}`,
      repair: true,
      cause: 'operator',
    } as const;
    const audit = createAddressAudit(fixture.deps(await liarFirst()));
    const page = await runActivity(() => audit.auditPage(order));
    expect(page).toMatchObject({ unread: 0 });
    expect((await fixture.depositsOf(row.wallet)).map(({ signature }) => signature)).toEqual([row.signature]);
  });

  it('does not release a paid import, once an operator rejects the deposit that a quorum denies', async () => {
    await fixture.scanAll(fixture.scanner());
    const since = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
    const paid = newAddress();
    await fixture.localnet.airdrop(paid, 8_000_000n);
    fixture.finalize();
    await fixture.scanAll(fixture.scanner());
    await fixture.ledger.addresses.import([{ address: paid, path: `m/${paid}` }], since);
    const [order] = (await dueAuditsIn(fixture)).filter(({ address }) => address === paid);
    if (order === undefined) throw new Error('it is due');
    expect(await auditIn(fixture, order, await liarFirst())).toMatchObject({ unread: 0 });
    fixture.localnet.controls.clearFaults();
    nodes.liar.beHonest();
    // From here on all nodes are honest.
    await fixture.confirm();
    for (const row of await fixture.depositsOf(paid))
      if (row.state === 'pending')
        await rejectDeposit(
          { ledger: fixture.ledger, chain: async () => ({ pool: fixture.pool }) as never },
          depositId(row),
          { actor: 'ops', reason: 'no node but one has it' },
        );
    for (let user = 0; user < 20; user += 1) {
      const given = await fixture.ledger.addresses.assign(`user-${user}`).catch(() => null);
      expect(given?.address).not.toBe(paid);
    }
  });
});
