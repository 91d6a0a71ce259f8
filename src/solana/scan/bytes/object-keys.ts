import { areBytesEqual } from './byte-runs.ts';
import { isWhiteSpace, type JsonBytes } from './json-bytes.ts';

/** Reads the value at a position and returns the position after it. */
export type ReadValue = (at: number) => number;

/**
 * The member that was last read at one place of an object. No two steps have the same key, so that an object that
 * matches all steps has no duplicate key.
 */
interface Step {
  readonly key: string;
  /**
   * Position of the bytes from the end of the previous value (or the start of the object) to this value, with the key.
   */
  readonly lead: number;
  readonly leadLength: number;
  readonly read: ReadValue;
}

const CLOSE = 0x7d;
/** Limit on learned steps, because learning is slower than reading: a node could use a new key order in each object. */
const MAX_LEARNED_STEPS = 256;

/**
 * Reads JSON objects that mostly have the same keys in the same order, such as the transactions of a block. Each key
 * has its reader. If the bytes before a value equal those of an earlier object, the key is the same, and is not read
 * again.
 */
export class MembersReader {
  readonly #json: JsonBytes;
  readonly #readers: ReadonlyMap<string, ReadValue>;
  readonly #readOther: ReadValue;
  readonly #steps: Step[] = [];
  #learnedCount = 0;

  /** `readers`: the readers by key. `readOther` reads the values of all other keys. */
  constructor(json: JsonBytes, readers: Readonly<Record<string, ReadValue>>, readOther: ReadValue) {
    this.#json = json;
    this.#readers = new Map(Object.entries(readers));
    this.#readOther = readOther;
  }

  /** Reads the object at `at` and returns its end. Throws what {@link JsonBytes} and the readers throw. */
  read(at: number): number {
    const view = this.#json.view;
    const steps = this.#steps;
    let next = at;
    for (let index = 0; index < steps.length; index += 1) {
      const { lead, leadLength, read } = steps[index] as Step;
      if (!hasLead(view, lead, next, leadLength)) return this.#walk(next, index);
      next = read(next + leadLength);
      if (view.getUint8(next) === CLOSE) return next + 1;
    }
    return this.#walk(next, steps.length);
  }

  /** Reads the members from place `first` by their keys, and learns the bytes before each value. */
  #walk(at: number, first: number): number {
    let from = at;
    let place = first;
    const visit = (value: number, key: string): number => {
      const read = this.#readers.get(key) ?? this.#readOther;
      this.#learn(place, from, value, { key, read });
      place += 1;
      from = read(value);
      return from;
    };
    if (first === 0) return this.#json.object(at, visit);
    const keys = new Set(this.#steps.slice(0, first).map(({ key }) => key));
    return this.#json.remainingMembers(at, visit, keys);
  }

  #learn(place: number, from: number, value: number, member: Pick<Step, 'key' | 'read'>): void {
    if (this.#learnedCount === MAX_LEARNED_STEPS) return;
    const steps = this.#steps;
    const duplicateIndex = steps.findIndex(({ key }) => key === member.key);
    if (duplicateIndex > place) steps.length = place;
    steps[place] = { lead: from, leadLength: value - from, ...member };
    this.#learnedCount += 1;
  }
}

/**
 * True if the bytes at `at` equal a lead; false if the text ends too soon. The catch is cheaper than a length check.
 */
function hasLead(view: DataView, lead: number, at: number, length: number): boolean {
  try {
    return areBytesEqual(view, lead, at, length) && !isWhiteSpace(view.getUint8(at + length));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
