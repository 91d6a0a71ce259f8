import { describe, expect, it } from 'vitest';
import { createAddressAudit } from '../../src/deposits/backfill/address-audit.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { depositOutboxEvent } from '../../src/ledger/webhooks/events.ts';
import { runActivity } from '../support/activity.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { isWholeBlock, makeFirstNodeFastest, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);

function isAnyBlock(method: string): boolean {
  return method === 'getBlock';
}

/** The recorded time of a deposit whose block one of three nodes returns with this time, and the true time. */
async function recordedTimes(
  time: AnyJson,
  isLie: (method: string, params: AnyJson) => boolean = isAnyBlock,
): Promise<readonly [unknown, bigint]> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 7_000_000n);
  fixture.finalize();
  nodes.liar.edit = (method, params, answer) => {
    if (isLie(method, params) && answer.result) answer.result.blockTime = time;
    return answer;
  };
  await fixture.scanAll(new DepositScanner(fixture.deps(nodes.pool)));
  const [deposit] = await fixture.depositsOf(wallet);
  const { ledger } = fixture.localnet.controls.chain;
  const [block] = ledger.range(Number(deposit?.slot), Number(deposit?.slot), undefined, () => true);
  return [deposit?.time, BigInt(block?.time ?? -1)];
}

describe('a false block time of one node', () => {
  it.each([
    ['beyond any date', 9_000_000_000_000_000],
    ['beyond 64 bits', '9999999999999999999'],
    ['before 1970', -1],
    ['no number', 'now'],
    ['unknown', null],
    ['another time', 1],
  ])('does not delay the scan and is not stored: %s', async (_name, time) => {
    for (const isLie of [isAnyBlock, isWholeBlock]) {
      const [recorded, actual] = await recordedTimes(time, isLie);
      expect(recorded).toBe(actual);
    }
  });

  it.each([
    ['another time', 12_345],
    ['unknown', null],
  ])('is not stored by an audit where the database has no header of the block: %s', async (_name, time) => {
    const row = await fixture.unconfirmed();
    const { wallet } = row;
    await fixture.lose([row]);
    // As in a closed gap, before the first block, or where headers are pruned.
    await fixture.ledger.db
      .deleteFrom('block')
      .where('slot', '<=', row.slot + 1n)
      .execute();
    await makeFirstNodeFastest(fixture, nodes.pool);
    nodes.liar.edit = (method, _params, answer) => {
      if (method === 'getTransaction' && answer.result) answer.result.blockTime = time;
      return answer;
    };
    const order = { address: wallet, from: '1', to: `${row.slot}`, repair: true, cause: 'operator' } as const;
    const audit = createAddressAudit(fixture.deps(nodes.pool));
    await runActivity(() => audit.auditPage(order));
    fixture.localnet.controls.clearFaults();
    expect((await fixture.depositsOf(wallet)).map((found) => found.time)).toEqual([row.time]);
  });

  it('that was stored as an invalid date is returned as unknown', async () => {
    await recordedTimes(1);
    const { events } = await fixture.ledger.depositFeed.events(0n, 1);
    const [event] = events;
    if (event === undefined) throw new Error('no event');
    const deposit = { ...event.deposit, time: 9_000_000_000_000_000n };
    expect(depositOutboxEvent({ ...event, deposit }).data).toMatchObject({ blockTime: null });
  });
});
