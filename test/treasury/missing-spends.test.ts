import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import { beforeAll, describe, expect, it } from 'vitest';
import { finalizedTip } from '../../src/solana/scan/frontier.ts';
import { useHotWallet } from '../activities/hot-wallet.ts';
import { EMPTY_FINDING, START } from '../ledger/chain-of-blocks.ts';
import { resume, useLedger } from '../ledger/support.ts';

const use = useLedger();
const hot = useHotWallet(3, use);

beforeAll(async () => {
  await use.ledger.watched.addHot([hot.address]);
  await hot.check(use.ledger);
});

/** The scanner has read from a node that the wallet signed this in the newest final block, so long ago. */
async function scanned(signature: string, minutesAgo: number): Promise<void> {
  const { ledger } = use;
  hot.localnet.controls.produceSlots(3);
  const slot = await finalizedTip(hot.pool);
  await ledger.scan.start({ ...START, slot, parentSlot: slot - 1n });
  await ledger.db.updateTable('scanCursor').set({ slot }).execute();
  const finding = { ...EMPTY_FINDING, spends: [{ signature, wallet: hot.address, error: null }] };
  const blocks = [{ header: { slot, blockhash: null, time: null }, finding }];
  const watchVersion = await ledger.watched.version();
  await ledger.scan.upsert({ blocks, watchVersion });
  const seenAt = new Date(Date.now() - minutesAgo * 60_000);
  await ledger.db.updateTable('spend').set({ seenAt }).where('signature', '=', signature).execute();
}

const signatureOf = (name: string): string => base58.encode(createHash('sha512').update(name).digest());

async function openAlerts(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`);
}

const unjudged = () => use.ledger.spends.unjudged(hot.address, 10);

describe('a spend that the scanner saw and no node proves', () => {
  it('raises no alert for ten minutes', async () => {
    await scanned(signatureOf('young'), 9);
    await hot.check(use.ledger);
    expect(await unjudged()).toHaveLength(1);
    expect(await openAlerts()).toEqual([]);
    await use.ledger.spends.markJudged(hot.address, [signatureOf('young')]);
  });

  it('is dismissed as invented when a quorum returns the block without it, and pauses no payment', async () => {
    await scanned(signatureOf('made-up'), 11);
    await hot.check(use.ledger);
    expect(await unjudged()).toEqual([]);
    expect([await openAlerts(), await use.ledger.pauses.listOpen()]).toEqual([[], []]);
  });

  it('pauses all payments once when no quorum returns the block', async () => {
    await scanned(signatureOf('gone'), 11);
    for (const node of [0, 1, 2]) hot.localnet.controls.setFault(node, 'getBlock', { kind: 'null' });
    await hot.check(use.ledger);
    expect(await openAlerts()).toEqual([`unknown_spend ${signatureOf('gone')}`]);
    expect(await use.ledger.pauses.listOpen()).toMatchObject([{ cause: 'unknown_spend' }]);
    expect(await unjudged()).toEqual([]);
    await resume(use.ledger);
    await hot.check(use.ledger);
    expect(await use.ledger.pauses.listOpen()).toEqual([]);
  });
});
