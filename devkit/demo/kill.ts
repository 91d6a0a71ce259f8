import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/settlement.ts';
import type { WithdrawalStatus } from '../../src/domain/withdrawal.ts';
import { rpc } from '../localstack/rpc.ts';
import type { Case } from './customers.ts';
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
    if (signature !== null) seenOnChain = await commitmentOf(node, signature);
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

/** `processed`, `confirmed` or `finalized`; null while the node has not seen the transaction. */
async function commitmentOf(node: string, signature: string): Promise<string | null> {
  const { value } = await rpc<{ readonly value: readonly ({ confirmationStatus: string } | null)[] }>(
    node,
    'getSignatureStatuses',
    [[signature]],
  );
  return value[0]?.confirmationStatus ?? null;
}
