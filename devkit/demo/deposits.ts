import { setTimeout as sleep } from 'node:timers/promises';
import type { DepositEvent } from '../../src/client/client.ts';
import { incomingTransfersOnChain } from '../localstack/chain-truth.ts';
import { slotOf } from '../localstack/payer.ts';
import { type DepositVerdict, depositRows, judgeDeposits, type SentGift } from './deposit-verdict.ts';
import type { Payment } from './depositors.ts';
import type { ScannerKill } from './kill.ts';
import type { Stage } from './stage.ts';
import type { DemoRow } from './table.ts';

export interface DepositsReport extends DepositVerdict {
  readonly kill: ScannerKill | null;
  readonly rows: readonly DemoRow[];
}

const PAUSE_MS = 200;

export async function makeAll(stage: Stage, payments: readonly Payment[]): Promise<readonly SentGift[]> {
  const gifts: SentGift[] = [];
  for (const payment of payments) gifts.push(...(await make(stage, payment)));
  return gifts;
}

export async function make({ say }: Stage, { from, steps, gifts }: Payment): Promise<readonly SentGift[]> {
  const signature = await from.send(...steps);
  for (const { what } of gifts) say(`deposit: ${what}`);
  return gifts.map((gift) => ({ ...gift, signature }));
}

/** Resolves when the recorded cursor moves, so a worker scans now. */
export async function scanning({ sluice, signal }: Stage): Promise<void> {
  const slot = async () => (await sluice.scan.status()).cursor?.slot;
  const before = await slot();
  while ((await slot()) === before) await sleep(PAUSE_MS, undefined, { signal });
}

/** Waits for the scan, then compares the feed with the blocks. `wallets`: those of all users. */
export async function auditDeposits(
  stage: Stage,
  wallets: ReadonlySet<string>,
  gifts: readonly SentGift[],
  kill: ScannerKill | null,
): Promise<DepositsReport> {
  await waitUntilScanned(stage, gifts);
  const feed = await readFeed(stage);
  const arrivals = await incomingTransfersOnChain(stage.node, wallets);
  const verdict = judgeDeposits(gifts, arrivals, feed);
  const killFaults = kill === null ? ['no scanner was killed between a block and its credit'] : [];
  return {
    ...verdict,
    faults: [...verdict.faults, ...killFaults],
    kill,
    rows: depositRows(gifts, arrivals, feed),
  };
}

/** Resolves when the scan has passed the block of every payment, and a second node has confirmed all that was found. */
async function waitUntilScanned(
  { sluice, node, say, signal }: Stage,
  gifts: readonly SentGift[],
): Promise<void> {
  const slots = await Promise.all(
    gifts.map(async ({ what, signature }) => {
      const slot = await slotOf(node, signature);
      if (slot === null) throw new Error(`${what}: ${signature} is in no block any more`);
      return slot;
    }),
  );
  const last = Math.max(...slots);
  say(`waiting until the scan has passed slot ${last}, the newest with a deposit`);
  let reported: string | null = null;
  for (;;) {
    const status = await sluice.scan.status();
    const { cursor } = status;
    const reason = 'reason' in status ? status.reason : null;
    const passed = cursor !== null && BigInt(cursor.slot) >= BigInt(last);
    if (passed && (await sluice.deposits.list({ state: 'pending' }).next()).done === true) return;
    if (reason !== null && reason !== reported) say(`the scan is stopped: ${reason}`);
    reported = reason;
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function readFeed({ sluice, signal }: Stage): Promise<readonly DepositEvent[]> {
  const events: DepositEvent[] = [];
  for await (const event of sluice.deposits.events({ follow: false, signal })) events.push(event);
  return events;
}
