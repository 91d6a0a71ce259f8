import { z } from 'zod';
import { ALL_LIES, falseAccountSchema, STATUS_LIES } from './rpc/false-answers.ts';

const count = z.int().min(0);

/**
 * What a node does wrong. The first group changes the chain that it shows: `lag` shows it some blocks late; `stuck-finality` never
 * finalizes beyond a slot; `history-from` forgets what came before a slot, `hole` what lies between two; `height-offset` lies about
 * block heights; `blockhash-age` holds blockhashes for expired early (heights -1: all of them); `false-block` tells
 * of blocks what is not so ({@link ALL_LIES}); `list-limit` lists the blocks of no more slots at once, as providers do; `drop-send` answers
 * a send and throws it away.
 * `false-account` shows accounts falsely, `false-price` reports this priority fee for every block, and `false-units` these compute units for
 * every simulation that succeeds. `false-status` reports signatures that are not finalized as landed or failed, and those that have failed as successful;
 * `false-history` lists every signature that was sent, landed or not.
 * The second changes the answer: `delay` gives it later; `no-answer` keeps the connection open in silence; `drop` cuts it before any
 * work and `lost-answer` after the work is done; `http` refuses; `null`, `result` and `error` say something else; `malformed` says what
 * no client can read.
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

/** How often a fault is met: at most `times`, each call with a `probability` from 0 to 1 drawn from `seed`. Default: by every call. */
export const faultTermsSchema = z.object({
  times: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
  seed: z.int().optional(),
});

export type FaultTerms = Readonly<z.infer<typeof faultTermsSchema>>;

/** A call meets one of these only where the answer differs for it: the node counts it then. */
const COUNTED_BY_NODE: ReadonlySet<Fault['kind']> = new Set([
  'false-account',
  'false-price',
  'false-units',
  'false-status',
  'false-history',
]);

/** Prefix of the controls, which must answer on a node with any fault. */
const CONTROL_PREFIX = 'localnet_';

/** A generator of numbers from 0 to below 1; the same seed gives the same ones (mulberry32). */
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

/** The faults of one node by method; `*` stands for every method but the controls. */
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

  /** The faults that a call of this method meets now, each counted once; those of the method come before those of `*`. */
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
