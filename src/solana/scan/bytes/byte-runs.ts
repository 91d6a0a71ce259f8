const EIGHT = 8;
/**
 * Per run: its length and the index of its first eight bytes; for a run shorter than eight also two words, each with
 * its mask. The list is flat and read front to back, because one object per run would need an extra memory access.
 */
const FIELDS = 6;
const NONE: readonly number[] = [0, 0, 0, 0];

/**
 * Byte sequences that are compared with text in eight-byte steps, as numbers: equal numbers have equal bytes, except
 * for zeros, which JSON does not contain. A NaN is never equal, but UTF-8 never produces one; the bytes are then read
 * the slow way. The last step overlaps the previous one. A run shorter than eight bytes is compared under a mask.
 */
export class Runs {
  readonly #plan: Int32Array;
  readonly #eights: Float64Array;

  constructor(runs: readonly Uint8Array[]) {
    const plan: number[] = [];
    const eights: number[] = [];
    for (const run of runs) {
      plan.push(run.length, eights.length, ...(run.length < EIGHT ? u32sOf(run) : NONE));
      eights.push(...eightsOf(run));
    }
    this.#plan = Int32Array.from(plan);
    this.#eights = Float64Array.from(eights);
  }

  /** The position after run number `run` at `at`, or -1. May throw RangeError near the end of the text. */
  after(view: DataView, at: number, run: number): number {
    const plan = this.#plan;
    const fields = run * FIELDS;
    const end = at + (plan[fields] as number);
    if (end - at < EIGHT) {
      const low = view.getInt32(at, true) ^ (plan[fields + 2] as number);
      if ((low & (plan[fields + 3] as number)) !== 0) return -1;
      if (end - at <= 4) return end;
      const high = view.getInt32(at + 4, true) ^ (plan[fields + 4] as number);
      return (high & (plan[fields + 5] as number)) === 0 ? end : -1;
    }
    const eights = this.#eights;
    let index = plan[fields + 1] as number;
    for (let next = at; next < end - EIGHT; next += EIGHT) {
      if (view.getFloat64(next, true) !== eights[index]) return -1;
      index += 1;
    }
    return view.getFloat64(end - EIGHT, true) === eights[index] ? end : -1;
  }
}

/** Compares like {@link Runs}; false for fewer than eight bytes. May throw RangeError near the end of the text. */
export function areSame(view: DataView, one: number, other: number, length: number): boolean {
  if (length < EIGHT) return false;
  const last = length - EIGHT;
  for (let at = 0; at < last; at += EIGHT) {
    if (view.getFloat64(one + at, true) !== view.getFloat64(other + at, true)) return false;
  }
  return view.getFloat64(one + last, true) === view.getFloat64(other + last, true);
}

function eightsOf(run: Uint8Array): readonly number[] {
  if (run.length < EIGHT) return [];
  const view = new DataView(run.buffer, run.byteOffset, run.length);
  const eights: number[] = [];
  for (let at = 0; at < run.length - EIGHT; at += EIGHT) eights.push(view.getFloat64(at, true));
  eights.push(view.getFloat64(run.length - EIGHT, true));
  return eights;
}

/** The run as two words, each with a mask of its valid bytes. */
function u32sOf(run: Uint8Array): readonly number[] {
  const [words, masks] = [new Int32Array(2), new Int32Array(2)];
  new Uint8Array(words.buffer).set(run);
  new Uint8Array(masks.buffer).fill(0xff, 0, run.length);
  return [words[0] ?? 0, masks[0] ?? 0, words[1] ?? 0, masks[1] ?? 0];
}
