import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/settlement.ts';
import type { WithdrawalStatus } from '../../src/domain/withdrawal.ts';
import { slotOf } from '../localstack/payer.ts';
import { statusesOf } from '../localstack/rpc.ts';
import type { WithdrawalCase } from './customers.ts';
import type { SentTransfer } from './deposit-verdict.ts';
import type { Depositors } from './depositors.ts';
import { sendOne, waitUntilScanning } from './deposits.ts';
import type { Stage } from './stage.ts';

export interface WorkerKill {
  readonly signature: string;
  /** Commitment that a node reported before the kill. */
  readonly seenOnChain: string;
  /** Status after the kill, while no worker ran. */
  readonly status: WithdrawalStatus;
}

const MAX_TRIES = 5;
const POLL_MS = 5;

/**
 * Requests withdrawals until the worker of one is killed between send and confirmation: a node has the transaction, and the recorded
 * status is `sending`. A worker runs when this returns.
 *
 * @returns all withdrawals, the interrupted one last. `kill` is null if five in a row were confirmed before the kill.
 */
export async function killBetweenSendAndConfirmation(
  stage: Stage,
  nextCase: (attempt: number) => WithdrawalCase,
): Promise<{ readonly cases: readonly WithdrawalCase[]; readonly kill: WorkerKill | null }> {
  const cases: WithdrawalCase[] = [];
  while (cases.length < MAX_TRIES) {
    const withdrawal = nextCase(cases.length + 1);
    cases.push(withdrawal);
    const kill = await payAndKill(stage, withdrawal);
    if (kill?.status === 'sending') return { cases, kill };
    stage.say(`"${withdrawal.what}" was confirmed before the worker was killed; trying again`);
  }
  return { cases, kill: null };
}

/** Returns null and kills no worker if the withdrawal leaves `sending` before a node reports its transaction. */
async function payAndKill({ stack, sluice, node, say, signal }: Stage, { what, terms }: WithdrawalCase) {
  say(`requested: ${what}`);
  let withdrawal = await sluice.withdraw(terms);
  let signature: string | null = null;
  let seenOnChain: string | null = null;
  while (seenOnChain === null && !isTerminal(withdrawal.status)) {
    await sleep(POLL_MS, undefined, { signal });
    if (signature === null) withdrawal = await sluice.get(terms.id);
    signature = withdrawal.attempts.at(-1)?.signature ?? null;
    if (signature !== null)
      seenOnChain = (await statusesOf(node, [signature]))[0]?.confirmationStatus ?? null;
  }
  if (signature === null || seenOnChain === null) return null;
  if ((await sluice.get(terms.id)).status !== 'sending') return null;
  const { pid } = stack.worker;
  await stack.worker.kill('SIGKILL');
  const { status } = await sluice.get(terms.id);
  say(
    `killed worker ${pid} with SIGKILL: the node has the transaction (${seenOnChain}), the recorded status is ${status}`,
  );
  await stack.worker.start();
  say(
    `started worker ${stack.worker.pid}; it takes over when the heartbeat timeout of the killed worker's activity expires`,
  );
  return { signature, seenOnChain, status } satisfies WorkerKill;
}

/** State at the kill of the worker that scans. Slots are decimal strings. */
export interface ScannerKill {
  /** Transaction of the deposit, which was in a block but not credited. */
  readonly signature: string;
  readonly slot: string;
  /** Slot of the scan's cursor while no worker ran. */
  readonly cursor: string;
}

/**
 * Makes deposits until the scanner is killed between the block of one and its credit: the chain has the block, and the recorded cursor is
 * below it. A worker runs when this returns.
 *
 * @returns all deposits. `kill` is null if the scan passed the block before the kill five times in a row.
 */
export async function killBetweenBlockAndCredit(
  stage: Stage,
  { crash }: Depositors,
): Promise<{ readonly gifts: readonly SentTransfer[]; readonly kill: ScannerKill | null }> {
  const gifts: SentTransfer[] = [];
  for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
    await waitUntilScanning(stage);
    const sent = await sendOne(stage, crash(attempt));
    gifts.push(...sent);
    const kill = await killScanner(stage, sent[0]?.signature ?? '');
    if (kill !== null) return { gifts, kill };
    stage.say('the block was scanned before the worker was killed; trying again');
  }
  return { gifts, kill: null };
}

async function killScanner(
  { stack, sluice, node, say }: Stage,
  signature: string,
): Promise<ScannerKill | null> {
  const { pid } = stack.worker;
  await stack.worker.kill('SIGKILL');
  const slot = await slotOf(node, signature);
  const { cursor } = await sluice.scan.status();
  await stack.worker.start();
  if (slot === null || cursor === null || BigInt(cursor.slot) >= BigInt(slot)) return null;
  say(
    `killed worker ${pid}, the scanner, with SIGKILL: the deposit is in slot ${slot}, the cursor is at slot ${cursor.slot}`,
  );
  say(`started worker ${stack.worker.pid}; the scan continues from its cursor`);
  return { signature, slot: String(slot), cursor: cursor.slot };
}
