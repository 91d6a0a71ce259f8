import { NodeFault } from '../../rpc/errors.ts';
import { givingUp } from '../../rpc/giving-up.ts';
import { Gate, TurnMissed } from '../../rpc/rate-limiter.ts';
import type { Shower } from '../search.ts';

/** Long answers read concurrently, per process and per node: one that never ends must not block the others. */
const [AT_ONCE, OF_A_NODE] = [2, 1];
const PATIENCE_MS = 60_000;

const all = gateFor(AT_ONCE);
const ofNodes = new WeakMap<Shower, Gate>();

/**
 * Reads a long answer of a node in its turn. Throws errors of `read`. Throws NodeFault after a minute without a turn,
 * or once `over` aborts; that fault does not count against the node.
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
