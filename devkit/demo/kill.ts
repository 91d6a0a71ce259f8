import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/settlement.ts';
import type { WithdrawalStatus } from '../../src/domain/withdrawal.ts';
import { slotOf } from '../localstack/payer.ts';
import { statusesOf } from '../localstack/rpc.ts';
import type { Case } from './customers.ts';
import type { Given } from './deposit-verdict.ts';
import type { Depositors } from './depositors.ts';
import { make, scanning } from './deposits.ts';
import type { Stage } from './stage.ts';

/** What was seen around the death of a worker. */
export interface Kill {
  /** The transaction that was under way. */
  readonly signature: string;
  /** How far a node had it just before. */
  readonly seenOnChain: string;
  /** The withdrawal's status just after, when no worker was left to change it. */
  readonly status: WithdrawalStatus;
}

const TRIES = 5;
const LOOK_MS = 5;

/**
 * Pays until one withdrawal has lost its worker between send and confirmation: a node has seen the bytes, and the record does not
 * know of it. A withdrawal that was confirmed sooner is an ordinary one, and a fresh one is asked for. Never leaves without a worker.
 *
 * @returns all withdrawals that were asked for, the killed one last, and what was seen; null after five that were too quick.
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

/** Null where the withdrawal had passed `sending` before a node was seen to have it, so that nothing was killed. */
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

/** What was seen around the death of the worker that scans. Slots are decimal strings. */
export interface ScannerKill {
  /** The deposit that was in a block, and not yet credited. */
  readonly signature: string;
  readonly slot: string;
  /** The scan's cursor when no worker was left to move it. */
  readonly cursor: string;
}

/**
 * Pays until one deposit has lost the scanner between its block and its credit: a worker was scanning, the chain has the block, and
 * the cursor on record, which no worker can move any more, is below it. Never leaves without a worker.
 *
 * @returns all deposits that were made, and what was seen; null after five that the scan was too quick for.
 */
export async function killBetweenBlockAndCredit(
  stage: Stage,
  { crash }: Depositors,
): Promise<{ readonly given: readonly Given[]; readonly kill: ScannerKill | null }> {
  const given: Given[] = [];
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    await scanning(stage);
    const made = await make(stage, crash(attempt));
    given.push(...made);
    const kill = await killScanner(stage, made[0]?.signature ?? '');
    if (kill !== null) return { given, kill };
    stage.say('the block was scanned before the worker was killed; trying again');
  }
  return { given, kill: null };
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
