import { Runs } from './byte-runs.ts';
import { isBlank, type JsonBytes } from './json-bytes.ts';

/** Reads the value at a position and gives the one after it. */
export type ReadValue = (at: number) => number;

/** A member as it was last met at its place in an object. No two steps have the same name: so an object that is like them has none twice. */
interface Step {
  readonly name: string;
  /**
   * What lies between its value and the one before, or the start of the object: its key is among it, and no other. A single
   * run, as each is learned at a time of its own.
   */
  readonly lead: Runs;
  readonly read: ReadValue;
}

const CLOSE = 0x7d;
/** To learn costs more than to read: a node that writes each object in another order must not make it dear for all of a block. */
const MOST_LEARNED = 256;

/**
 * Reads JSON objects that mostly have the same keys in the same order, as the transactions of a block do: each value by the reader that
 * its key asks for. Where the bytes before a value are those before the one at that place in an object read earlier, so is its key, and
 * to see that they repeat is sooner than to read it.
 */
export class Members {
  readonly #json: JsonBytes;
  readonly #readers: ReadonlyMap<string, ReadValue>;
  readonly #other: ReadValue;
  readonly #steps: Step[] = [];
  #learned = 0;

  /** `readers` by key; `other` reads the value of any other one. */
  constructor(json: JsonBytes, readers: Readonly<Record<string, ReadValue>>, other: ReadValue) {
    this.#json = json;
    this.#readers = new Map(Object.entries(readers));
    this.#other = other;
  }

  /** Reads the object at `at` and gives the position after it. Throws what {@link JsonBytes} and the readers throw. */
  read(at: number): number {
    const view = this.#json.view;
    const steps = this.#steps;
    let next = at;
    for (let index = 0; index < steps.length; index += 1) {
      const { lead, read } = steps[index] as Step;
      const value = afterLead(lead, view, next);
      if (value < 0 || isBlank(view.getUint8(value))) return this.#walk(next, index);
      next = read(value);
      if (view.getUint8(next) === CLOSE) return next + 1;
    }
    return this.#walk(next, steps.length);
  }

  /** Reads the members from the one at place `first` on by their keys, and learns how they are led to. */
  #walk(at: number, first: number): number {
    let from = at;
    let place = first;
    const visit = (value: number, name: string): number => {
      const read = this.#readers.get(name) ?? this.#other;
      this.#learn(place, from, value, { name, read });
      place += 1;
      from = read(value);
      return from;
    };
    if (first === 0) return this.#json.object(at, visit);
    const names = new Set(this.#steps.slice(0, first).map(({ name }) => name));
    return this.#json.furtherMembers(at, visit, names);
  }

  #learn(place: number, from: number, value: number, member: Omit<Step, 'lead'>): void {
    if (this.#learned === MOST_LEARNED) return;
    const { buffer, byteOffset } = this.#json.view;
    const steps = this.#steps;
    const double = steps.findIndex(({ name }) => name === member.name);
    if (double > place) steps.length = place;
    steps[place] = { lead: new Runs([new Uint8Array(buffer, byteOffset + from, value - from)]), ...member };
    this.#learned += 1;
  }
}

/** -1 where it does not lie there, or the text ends so soon behind it that only a walk can tell: to ask for its end each time costs more. */
function afterLead(lead: Runs, view: DataView, at: number): number {
  try {
    return lead.after(view, at, 0);
  } catch (error) {
    if (error instanceof RangeError) return -1;
    throw error;
  }
}
