import { setTimeout as sleep } from 'node:timers/promises';
import type { DepositEvent } from '../../src/client/client.ts';
import { incomingTransfersOnChain } from '../localstack/chain-truth.ts';
import { slotOf } from '../localstack/payer.ts';
import { type DepositVerdict, depositRows, judgeDeposits, type SentTransfer } from './deposit-verdict.ts';
import type { DepositTransaction } from './depositors.ts';
import type { ScannerKill } from './kill.ts';
import type { Stage } from './stage.ts';
import type { DemoRow } from './table.ts';

export interface DepositsReport extends DepositVerdict {
  readonly kill: ScannerKill | null;
  readonly rows: readonly DemoRow[];
}

const POLL_MS = 200;

export async function sendAll(
  stage: Stage,
  transactions: readonly DepositTransaction[],
): Promise<readonly SentTransfer[]> {
  const sent: SentTransfer[] = [];
  for (const transaction of transactions) sent.push(...(await sendOne(stage, transaction)));
  return sent;
}

export async function sendOne(
  { say }: Stage,
  { from, drafts, transfers }: DepositTransaction,
): Promise<readonly SentTransfer[]> {
  const signature = await from.send(...drafts);
  for (const { what } of transfers) say(`deposit: ${what}`);
  return transfers.map((transfer) => ({ ...transfer, signature }));
}

/** Resolves when the recorded cursor has moved, which shows that a worker is scanning. */
export async function waitUntilScanning({ sluice, signal }: Stage): Promise<void> {
  const readSlot = async () => (await sluice.scan.status()).cursor?.slot;
  const firstSlot = await readSlot();
  while ((await readSlot()) === firstSlot) await sleep(POLL_MS, undefined, { signal });
}

/** Waits for the scan, then compares the feed with the blocks. `wallets` are the wallets of all users. */
export async function auditDeposits(
  stage: Stage,
  wallets: ReadonlySet<string>,
  sent: readonly SentTransfer[],
  kill: ScannerKill | null,
): Promise<DepositsReport> {
  await waitUntilScanned(stage, sent);
  const feed = await readFeed(stage);
  const incoming = await incomingTransfersOnChain(stage.node, wallets);
  const verdict = judgeDeposits(sent, incoming, feed);
  const killFaults =
    kill === null ? ['no scanner was killed between the block of a deposit and its credit'] : [];
  return {
    ...verdict,
    faults: [...verdict.faults, ...killFaults],
    kill,
    rows: depositRows(sent, incoming, feed),
  };
}

/** Resolves when the scan has passed the block of every deposit, and no deposit is pending any longer. */
async function waitUntilScanned(
  { sluice, node, say, signal }: Stage,
  sent: readonly SentTransfer[],
): Promise<void> {
  const slots = await Promise.all(
    sent.map(async ({ what, signature }) => {
      const slot = await slotOf(node, signature);
      if (slot === null) throw new Error(`${what}: transaction ${signature} is no longer in a block`);
      return slot;
    }),
  );
  const last = Math.max(...slots);
  say(`waiting until the scan has passed slot ${last}, which has the newest deposit`);
  let reported: string | null = null;
  for (;;) {
    const status = await sluice.scan.status();
    const { cursor } = status;
    const reason = 'reason' in status ? status.reason : null;
    const hasPassed = cursor !== null && BigInt(cursor.slot) >= BigInt(last);
    if (hasPassed && (await sluice.deposits.list({ state: 'pending' }).next()).done === true) return;
    if (reason !== null && reason !== reported) say(`the scan is stopped: ${reason}`);
    reported = reason;
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function readFeed({ sluice, signal }: Stage): Promise<readonly DepositEvent[]> {
  const events: DepositEvent[] = [];
  for await (const event of sluice.deposits.events({ follow: false, signal })) events.push(event);
  return events;
}
