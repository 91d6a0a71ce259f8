import { z } from 'zod';
import { ALL_LIES, falseAccountSchema, STATUS_LIES } from './rpc/false-answers.ts';

const count = z.int().min(0);

/**
 * Faults of a node. The first group changes the chain that the node returns:
 * - `lag`: some blocks behind. `stuck-finality`: no finality above a slot.
 * - `history-from`: no blocks before a slot. `hole`: no blocks between two slots. `list-limit`: at most so many slots in one list.
 * - `height-offset`: false block heights. `blockhash-age`: blockhashes expire early (heights -1: all of them).
 * - `false-block`: false transactions ({@link ALL_LIES}). `false-account`: false accounts. `false-history`: lists every sent signature, landed or not.
 * - `false-price`: this priority fee for every block. `false-units`: these compute units for every successful simulation.
 * - `false-status`: signatures that are not finalized are landed or failed, and failed ones are successful.
 * - `drop-send`: accepts a transaction and drops it.
 *
 * The second group changes the answer:
 * - `delay`: answers late. `no-answer`: keeps the connection open without an answer.
 * - `drop`: closes the connection before the work. `lost-answer`: closes it after the work.
 * - `http`: answers with an HTTP error. `null`, `result`, `error`: another answer. `malformed`: an answer that no client can parse.
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

/** The node counts these itself, and only if they change the answer. */
const COUNTED_BY_NODE: ReadonlySet<Fault['kind']> = new Set([
  'false-account',
  'false-price',
  'false-units',
  'false-status',
  'false-history',
]);

/** Prefix of the controls, which answer in spite of any fault. */
const CONTROL_PREFIX = 'localnet_';

/** Random numbers from 0 to below 1. The same seed gives the same numbers (mulberry32). */
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
  left: number;
}

/** The faults of one node by method; `*` is every method except the controls. */
export class Faults {
  readonly #met = new Map<Fault['kind'], number>();
  #scripted: Scripted[] = [];

  add(method: string, fault: Fault, terms: FaultTerms = {}): void {
    const { times = Number.POSITIVE_INFINITY, probability = 1, seed = 0 } = terms;
    this.#scripted.push({ method, fault, probability, random: randomFrom(seed), left: times });
  }

  clear(method?: string): void {
    this.#scripted = method === undefined ? [] : this.#scripted.filter((item) => item.method !== method);
  }

  get met(): ReadonlyMap<Fault['kind'], number> {
    return this.#met;
  }

  /** Counts one answer that a fault of this kind has changed. */
  count(kind: Fault['kind']): void {
    this.#met.set(kind, (this.#met.get(kind) ?? 0) + 1);
  }

  /** The faults of this call, each counted once; those of the method come before those of `*`. */
  take(method: string): Fault[] {
    const met = this.#of(method).filter((item) => item.random() < item.probability);
    for (const item of met) {
      item.left -= 1;
      if (!COUNTED_BY_NODE.has(item.fault.kind)) this.count(item.fault.kind);
    }
    this.#scripted = this.#scripted.filter((item) => item.left > 0);
    return met.map((item) => item.fault);
  }

  /** The faults that every call of this method meets until they are cleared. */
  lasting(method: string): Fault[] {
    return this.#of(method)
      .filter((item) => item.probability === 1 && item.left === Number.POSITIVE_INFINITY)
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
