import { z } from 'zod';
import { ALL_LIES, falseAccountSchema, STATUS_LIES } from './rpc/false-answers.ts';

const count = z.int().min(0);

/**
 * Faults of a node. The first group changes the chain that the node returns:
 * - `lag`: the node is this many blocks behind. `stuck-finality`: no block above this slot is finalized.
 * - `history-from`: no blocks before this slot. `hole`: no blocks from one slot to another. `list-limit`: maximum number of slots in one list.
 * - `height-offset`: block heights differ by this number. `blockhash-age`: blockhashes expire after this many blocks (-1: at once).
 * - `false-block`: false transactions ({@link ALL_LIES}). `false-account`: false accounts. `false-history`: lists every sent signature, also those that did not land.
 * - `false-price`: this priority fee for every block. `false-units`: these compute units for every successful simulation.
 * - `false-status`: reports signatures that are not finalized as landed or failed, and failed ones as successful.
 * - `drop-send`: accepts a transaction and does not forward it.
 *
 * The second group changes the answer:
 * - `delay`: answers late. `no-answer`: leaves the connection open without an answer.
 * - `drop`: closes the connection without running the method. `lost-answer`: runs the method and closes the connection.
 * - `http`: answers with an HTTP error. `null`, `result`, `error`: answers with this instead. `malformed`: an answer that clients must reject.
 */
export const faultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('lag'), blocks: count }),
  z.object({ kind: z.literal('stuck-finality'), slot: count }),
  z.object({ kind: z.literal('history-from'), slot: count }),
  z.object({ kind: z.literal('hole'), from: count, to: count }),
  z.object({ kind: z.literal('height-offset'), blocks: z.int() }),
  z.object({ kind: z.literal('blockhash-age'), heights: z.int().min(-1) }),
  z.object({ kind: z.literal('false-block'), lie: z.literal(ALL_LIES) }),
  falseAccountSchema,
  z.object({ kind: z.literal('false-price'), microLamports: count }),
  z.object({ kind: z.literal('false-units'), units: count }),
  z.object({ kind: z.literal('false-status'), lie: z.literal(STATUS_LIES) }),
  z.object({ kind: z.literal('false-history') }),
  z.object({ kind: z.literal('list-limit'), slots: count }),
  z.object({ kind: z.literal('drop-send') }),
  z.object({ kind: z.literal('delay'), ms: count }),
  z.object({ kind: z.literal('no-answer') }),
  z.object({ kind: z.literal('drop') }),
  z.object({ kind: z.literal('lost-answer') }),
  z.object({
    kind: z.literal('http'),
    status: z.literal([429, 500, 502, 503]),
    retryAfterSeconds: z.number().optional(),
  }),
  z.object({ kind: z.literal('null') }),
  z.object({ kind: z.literal('result'), result: z.unknown() }),
  z.object({ kind: z.literal('error'), code: z.int(), message: z.string(), data: z.unknown().optional() }),
  z.object({ kind: z.literal('malformed'), form: z.enum(['truncated', 'html', 'wrong-id']) }),
]);

export type Fault = Readonly<z.infer<typeof faultSchema>>;

/** Applies a fault at most `times`, to each call with this `probability` (0 to 1, drawn from `seed`). Default: to every call. */
export const faultTermsSchema = z.object({
  times: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
  seed: z.int().optional(),
});

export type FaultTerms = Readonly<z.infer<typeof faultTermsSchema>>;

/** Faults that `NodeView` counts, because they do not change every answer; all others are counted when they are drawn. */
const KINDS_COUNTED_BY_VIEW: ReadonlySet<Fault['kind']> = new Set([
  'false-account',
  'false-price',
  'false-units',
  'false-status',
  'false-history',
]);

/** Prefix of the control methods, which a fault of `*` does not affect. */
const CONTROL_PREFIX = 'localnet_';

/** A generator of numbers from 0 (inclusive) to 1 (exclusive), determined by the seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface Scripted {
  readonly method: string;
  readonly fault: Fault;
  readonly probability: number;
  readonly random: () => number;
  remainingCalls: number;
}

/** The faults of one node, by method; `*` is every method except the controls. */
export class Faults {
  readonly #met = new Map<Fault['kind'], number>();
  #scripted: Scripted[] = [];

  add(method: string, fault: Fault, terms: FaultTerms = {}): void {
    const { times = Number.POSITIVE_INFINITY, probability = 1, seed = 0 } = terms;
    this.#scripted.push({ method, fault, probability, random: randomFrom(seed), remainingCalls: times });
  }

  clear(method?: string): void {
    this.#scripted = method === undefined ? [] : this.#scripted.filter((item) => item.method !== method);
  }

  get met(): ReadonlyMap<Fault['kind'], number> {
    return this.#met;
  }

  count(kind: Fault['kind']): void {
    this.#met.set(kind, (this.#met.get(kind) ?? 0) + 1);
  }

  take(method: string): Fault[] {
    const drawn = this.#of(method).filter((item) => item.random() < item.probability);
    for (const item of drawn) {
      item.remainingCalls -= 1;
      if (!KINDS_COUNTED_BY_VIEW.has(item.fault.kind)) this.count(item.fault.kind);
    }
    this.#scripted = this.#scripted.filter((item) => item.remainingCalls > 0);
    return drawn.map((item) => item.fault);
  }

  /** The faults that apply to every call of this method until they are cleared. */
  lasting(method: string): Fault[] {
    return this.#of(method)
      .filter((item) => item.probability === 1 && item.remainingCalls === Number.POSITIVE_INFINITY)
      .map((item) => item.fault);
  }

  #of(method: string): Scripted[] {
    const keys = method.startsWith(CONTROL_PREFIX) ? [method] : [method, '*'];
    return keys.flatMap((key) => this.#scripted.filter((item) => item.method === key));
  }
}

export function faultOf<K extends Fault['kind']>(
  faults: readonly Fault[],
  kind: K,
): Extract<Fault, { kind: K }> | undefined {
  return faults.find((item): item is Extract<Fault, { kind: K }> => item.kind === kind);
}
