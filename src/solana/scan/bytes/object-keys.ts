import { areBytesEqual } from './byte-runs.ts';
import { isWhiteSpace, type JsonBytes } from './json-bytes.ts';

/** Reads the value at a position and returns the position after it. */
export type ReadValue = (at: number) => number;

/** A member as it last occurred at its place. No two steps have the same key: a matching object has no duplicate. */
interface Step {
  readonly key: string;
  /**
   * Where the bytes are between its value and the previous one, or the start of the object. They contain its key and
   * no other.
   */
  readonly lead: number;
  readonly leadLength: number;
  readonly read: ReadValue;
}

const CLOSE = 0x7d;
/** Learning costs more than reading: a node with another key order in each object must not slow down a block. */
const MAX_LEARNED_STEPS = 256;

/**
 * Reads JSON objects that mostly have the same keys in the same order, as the transactions of a block do. Each key
 * has its reader. If the bytes before a value equal those of an earlier object, so does the key: comparing bytes is
 * faster than reading it.
 */
export class MembersReader {
  readonly #json: JsonBytes;
  readonly #readers: ReadonlyMap<string, ReadValue>;
  readonly #readOther: ReadValue;
  readonly #steps: Step[] = [];
  #learnedCount = 0;

  /** `readers` by key; `other` reads the values of all other keys. */
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

  /** Reads the members from place `first` on by their keys, and learns the bytes before each. */
  #walk(at: number, first: number): number {
    let from = at;
    let place = first;
    const visit = (value: number, name: string): number => {
      const read = this.#readers.get(name) ?? this.#readOther;
      this.#learn(place, from, value, { key: name, read });
      place += 1;
      from = read(value);
      return from;
    };
    if (first === 0) return this.#json.object(at, visit);
    const keys = new Set(this.#steps.slice(0, first).map(({ key: name }) => name));
    return this.#json.remainingMembers(at, visit, keys);
  }

  #learn(place: number, from: number, value: number, member: Pick<Step, 'key' | 'read'>): void {
    if (this.#learnedCount === MAX_LEARNED_STEPS) return;
    const steps = this.#steps;
    const duplicateIndex = steps.findIndex(({ key: name }) => name === member.key);
    if (duplicateIndex > place) steps.length = place;
    steps[place] = { lead: from, leadLength: value - from, ...member };
    this.#learnedCount += 1;
  }
}

/** False also if the text ends too soon after `at`. The catch is cheaper than a length check. */
function hasLead(view: DataView, lead: number, at: number, length: number): boolean {
  try {
    return areBytesEqual(view, lead, at, length) && !isWhiteSpace(view.getUint8(at + length));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
