import { NodeFault } from '../../rpc/errors.ts';
import { givingUp } from '../../rpc/giving-up.ts';
import { Gate, TurnMissed } from '../../rpc/rate-limiter.ts';
import type { Shower } from '../search.ts';

/** Long answers that are read at once in a process, and of one node: else one that never ends keeps all others waiting. */
const [AT_ONCE, OF_A_NODE] = [2, 1];
const PATIENCE_MS = 60_000;

const all = gateFor(AT_ONCE);
const ofNodes = new WeakMap<Shower, Gate>();

/**
 * Reads a long answer of a node when it is its turn. Throws what `read` throws, and NodeFault, for which nobody blames the node, after a
 * minute without one, or once `over` is aborted.
 */
export async function inTurn<T>(node: Shower, read: () => Promise<T>, over?: AbortSignal): Promise<T> {
  const own = ofNodes.get(node) ?? gateFor(OF_A_NODE);
  ofNodes.set(node, own);
  const pass = (given: AbortSignal) => own.pass(given, () => all.pass(given, read));
  try {
    return await givingUp(pass, AbortSignal.timeout(PATIENCE_MS), over);
  } catch (error) {
    if (!(error instanceof TurnMissed)) throw error;
    const reason = 'getBlock: too many long blocks are read at once';
    throw new NodeFault(node.name, reason, { method: 'getBlock', asked: false, cause: error });
  }
}

function gateFor(concurrency: number): Gate {
  return new Gate({ concurrency, perSecond: Number.POSITIVE_INFINITY });
}
