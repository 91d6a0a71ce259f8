import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/settlement.ts';
import type { WithdrawalStatus } from '../../src/domain/withdrawal.ts';
import { slotOf } from '../localstack/payer.ts';
import { statusesOf } from '../localstack/rpc.ts';
import type { Case } from './customers.ts';
import type { SentGift } from './deposit-verdict.ts';
import type { Depositors } from './depositors.ts';
import { make, scanning } from './deposits.ts';
import type { Stage } from './stage.ts';

/** What was seen around the death of a worker. */
export interface Kill {
  /** The transaction that was under way. */
  readonly signature: string;
  /** The node's commitment just before. */
  readonly seenOnChain: string;
  /** The withdrawal's status just after, while no worker ran. */
  readonly status: WithdrawalStatus;
}

const TRIES = 5;
const LOOK_MS = 5;

/**
 * Requests withdrawals until one loses its worker between send and confirmation: a node has the transaction, and the database still
 * says `sending`. If a withdrawal is confirmed too soon, the next one is requested. A worker runs when this returns.
 *
 * @returns all withdrawals, the interrupted one last, and its observed state; null if five in a row were confirmed too soon.
 */
export async function killBetweenSendAndConfirmation(
  stage: Stage,
  fresh: (attempt: number) => Case,
): Promise<{ readonly cases: readonly Case[]; readonly kill: Kill | null }> {
  const cases: Case[] = [];
  while (cases.length < TRIES) {
    const next = fresh(cases.length + 1);
    cases.push(next);
    const kill = await payAndKill(stage, next);
    if (kill?.status === 'sending') return { cases, kill };
    stage.say(`"${next.what}" was confirmed before the worker was killed; trying again`);
  }
  return { cases, kill: null };
}

/** Null, without a kill, if the withdrawal left `sending` before a node returned its status. */
async function payAndKill({ stack, sluice, node, say, signal }: Stage, { what, terms }: Case) {
  say(`requested: ${what}`);
  let seen = await sluice.withdraw(terms);
  let signature: string | null = null;
  let seenOnChain: string | null = null;
  while (seenOnChain === null && !isTerminal(seen.status)) {
    await sleep(LOOK_MS, undefined, { signal });
    if (signature === null) seen = await sluice.get(terms.id);
    signature = seen.attempts.at(-1)?.signature ?? null;
    if (signature !== null)
      seenOnChain = (await statusesOf(node, [signature]))[0]?.confirmationStatus ?? null;
  }
  if (signature === null || seenOnChain === null) return null;
  if ((await sluice.get(terms.id)).status !== 'sending') return null;
  const { pid } = stack.worker;
  await stack.worker.kill('SIGKILL');
  const { status } = await sluice.get(terms.id);
  say(
    `killed worker ${pid} with SIGKILL: the node has the transaction (${seenOnChain}), the database says ${status}`,
  );
  await stack.worker.start();
  say(
    `started worker ${stack.worker.pid}; it takes over when Temporal misses the heartbeats of the dead one`,
  );
  return { signature, seenOnChain, status } satisfies Kill;
}

/** State at the kill of the worker that scans. Slots are decimal strings. */
export interface ScannerKill {
  /** The deposit that was in a block and not yet credited. */
  readonly signature: string;
  readonly slot: string;
  /** The scan's cursor while no worker ran. */
  readonly cursor: string;
}

/**
 * Makes deposits until one loses the scanner between block and credit: a worker scanned, the chain has the block, and the recorded
 * cursor is below it while no worker runs. A worker runs when this returns.
 *
 * @returns all deposits, and the state at the kill; null if the scan was faster five times in a row.
 */
export async function killBetweenBlockAndCredit(
  stage: Stage,
  { crash }: Depositors,
): Promise<{ readonly gifts: readonly SentGift[]; readonly kill: ScannerKill | null }> {
  const gifts: SentGift[] = [];
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    await scanning(stage);
    const made = await make(stage, crash(attempt));
    gifts.push(...made);
    const kill = await killScanner(stage, made[0]?.signature ?? '');
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
    `killed worker ${pid}, which scans, with SIGKILL: the deposit is in block ${slot}, the cursor is at ${cursor.slot}`,
  );
  say(`started worker ${stack.worker.pid}; the scan continues from its cursor`);
  return { signature, slot: String(slot), cursor: cursor.slot };
}
