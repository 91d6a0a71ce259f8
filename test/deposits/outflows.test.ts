import { describe, expect, it } from 'vitest';
import { OutflowConfirmer } from '../../src/deposits/credits/confirm-outflows.ts';
import type { OutflowRow } from '../../src/ledger/deposits/outflows.ts';
import { auditIn, openAlertsIn } from './audit-support.ts';
import { useScanRoom } from './scan-fixture.ts';
import { turnUntil } from './scan-steps.ts';

const room = useScanRoom(3);
/** Of a transfer of 9,000,000 that its sender pays for. */
const SWEPT = 9_005_000n;

function witness(): Promise<void> {
  return new OutflowConfirmer(room.deps()).witness();
}

async function outflowsOf(wallet: string): Promise<readonly OutflowRow[]> {
  return room.ledger.db.selectFrom('outflow').selectAll().where('wallet', '=', wallet).execute();
}

/** A wallet that has paid another one of ours, as the scan was shown it. */
async function swept(lie?: 'mirrored'): Promise<{ readonly from: string; readonly to: string }> {
  const ours = await room.newSigner(1_000_000_000n);
  await witness();
  const to = await room.newDepositAddress();
  await room.sweep(ours, to, 9_000_000n);
  if (lie === undefined) {
    room.finalize();
    await room.scanAll(room.scanner());
  } else await room.scanWithLie(lie);
  return { from: ours.publicKey.toBase58(), to };
}

describe('what left a wallet', () => {
  it('counts from its block on, and is asked of a quorum once', async () => {
    const { from } = await swept();
    expect(await outflowsOf(from)).toMatchObject([{ amount: SWEPT, witnessDue: true, witnessedBy: null }]);
    await witness();
    const [row] = await outflowsOf(from);
    expect(row).toMatchObject({ amount: SWEPT, witnessDue: false });
    expect(row?.witnessedBy?.split(', ')).toHaveLength(2);
    expect(await room.ledger.outflows.unwitnessed(10)).toEqual([]);
  });

  it('by the word of one node alone is struck out by a quorum, and what is true takes its place', async () => {
    const { from, to } = await swept('mirrored');
    const [made] = await outflowsOf(to);
    if (made === undefined) throw new Error('the lie leaves no row');
    expect(await room.ledger.movements.balancesOf([to], made.slot)).toMatchObject([{ amount: -9_000_000n }]);
    await witness();
    expect(await outflowsOf(to)).toEqual([]);
    expect(await room.ledger.movements.balancesOf([to], made.slot)).toEqual([]);
    expect(await openAlertsIn(room, 'deposit_mismatch')).toContain(made.signature);
    const slot = made.slot.toString();
    for (const address of [from, to])
      await auditIn(room, { address, from: slot, to: slot, repair: true, cause: 'operator' });
    await witness();
    expect(await outflowsOf(from)).toMatchObject([{ amount: SWEPT, witnessDue: false }]);
    expect(await outflowsOf(to)).toEqual([]);
  });

  it('waits for a quorum as it is, whatever one node says, or none', async () => {
    const { from } = await swept();
    const { controls } = room.localnet;
    for (const node of [0, 1]) controls.setFault(node, 'getTransaction', { kind: 'null' });
    await witness();
    for (const node of [0, 1]) controls.setFault(node, 'getTransaction', { kind: 'http', status: 503 });
    await witness();
    expect(await outflowsOf(from)).toMatchObject([{ amount: SWEPT, witnessDue: true }]);
    controls.clearFaults();
    await expect
      .poll(async () => {
        await witness();
        return outflowsOf(from);
      })
      .toMatchObject([{ amount: SWEPT, witnessDue: false }]);
  });

  it('is put right where a quorum shows another amount', async () => {
    const { from } = await swept();
    await room.ledger.db.updateTable('outflow').set({ amount: 1n }).where('wallet', '=', from).execute();
    const [row] = await outflowsOf(from);
    await witness();
    expect(await outflowsOf(from)).toMatchObject([{ amount: SWEPT, witnessDue: false }]);
    expect(await openAlertsIn(room, 'deposit_mismatch')).toContain(row?.signature);
  });

  it('is asked for beside the scan', async () => {
    const { from } = await swept();
    await turnUntil(room.deps(), async () => (await outflowsOf(from))[0]?.witnessDue === false);
    expect(await outflowsOf(from)).toMatchObject([{ witnessDue: false }]);
  });
});
