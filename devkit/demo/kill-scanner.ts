import { slotOf } from '../localstack/payer.ts';
import type { Given } from './deposit-verdict.ts';
import type { Depositors } from './depositors.ts';
import { make, scanning } from './deposits.ts';
import type { Stage } from './stage.ts';

/** What was seen around the death of the worker that scans. Slots are decimal strings. */
export interface ScannerKill {
  /** The deposit that was in a block, and not yet credited. */
  readonly signature: string;
  readonly slot: string;
  /** The scan's cursor when no worker was left to move it. */
  readonly cursor: string;
}

const TRIES = 5;

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
