const QUOTE = 0x22;
const SPACE = 0x20;
/** Digits, signs, commas, colons and white space lie below it; brackets and the letters of null, true and false above. */
const FIRST_LETTER = 0x40;
/** The only bit in which `{` and `[` differ, and `}` and `]`. */
const SQUARE = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const WORD_BYTES = 4;
const QUOTES = 0x22222222;
const LOWEST_BITS = 0x01010101;
const HIGHEST_BITS = 0x80808080 | 0;

/** The text is not what its reader expects, so that nothing can be told from it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** Reads a member's value and gives the position after it; its key lies from `start` to `end`. */
export type VisitMember = (value: number, start: number, end: number) => number;

/**
 * Walks JSON where it lies, and makes no values of it. For text without a backslash only: then each quote begins or ends a string.
 * Positions count bytes; each method takes that of what it reads and gives the one after it. It reads all JSON, and some
 * text that is none. Throws {@link Unreadable}, and RangeError where the text ends too soon.
 */
export class JsonBytes {
  readonly #view: DataView;
  readonly #onText: (start: number, end: number) => void;

  /** `onText` is told of each string, keys included, within the values that {@link value} passes. */
  constructor(view: DataView, onText: (start: number, end: number) => void) {
    this.#view = view;
    this.#onText = onText;
  }

  /** Visits the members of an object. */
  object(at: number, visit: VisitMember): number {
    let next = this.spaces(this.#past(at, '{'));
    if (this.is(next, '}')) return next + 1;
    for (;;) {
      const start = this.#past(next, '"');
      const end = this.textEnd(start);
      const value = this.spaces(this.#past(this.spaces(end + 1), ':'));
      next = this.spaces(visit(value, start, end));
      if (this.is(next, '}')) return next + 1;
      next = this.spaces(this.#past(next, ','));
    }
  }

  /** Visits the elements of an array: `visit` reads one and gives the position after it. */
  array(at: number, visit: (element: number) => number): number {
    let next = this.spaces(this.#past(at, '['));
    if (this.is(next, ']')) return next + 1;
    for (;;) {
      next = this.spaces(visit(next));
      if (this.is(next, ']')) return next + 1;
      next = this.spaces(this.#past(next, ','));
    }
  }

  /** Passes a value of any kind and tells of the strings in it. */
  value(at: number): number {
    const view = this.#view;
    let depth = 0;
    let next = at;
    for (;;) {
      const byte = view.getUint8(next);
      if (byte === QUOTE) {
        const end = this.textEnd(next + 1);
        this.#onText(next + 1, end);
        next = end + 1;
        if (depth === 0) return next;
      } else if (byte < FIRST_LETTER) {
        if (depth === 0) return this.scalarEnd(next);
        next += 1;
      } else {
        const bracket = byte | SQUARE;
        if (bracket === OPEN) depth += 1;
        else if (bracket === CLOSE) {
          depth -= 1;
          if (depth <= 0) return next + 1;
        } else if (depth === 0) return this.scalarEnd(next);
        next += 1;
      }
    }
  }

  /** The closing quote of the string whose text begins at `at`. */
  textEnd(at: number): number {
    const view = this.#view;
    const lastWord = view.byteLength - WORD_BYTES;
    let next = at;
    for (; next <= lastWord; next += WORD_BYTES) {
      // The lowest byte that is a quote shows as the lowest bit set; bits above it may be false.
      const word = view.getInt32(next, true) ^ QUOTES;
      const marks = (word - LOWEST_BITS) & ~word & HIGHEST_BITS;
      if (marks !== 0) return next + ((31 - Math.clz32(marks & -marks)) >> 3);
    }
    while (view.getUint8(next) !== QUOTE) next += 1;
    return next;
  }

  /** The end of a number, null, true or false. */
  scalarEnd(at: number): number {
    let next = at;
    while (!isAfterScalar(this.#view.getUint8(next))) next += 1;
    if (next === at) throw new Unreadable(`no value at byte ${at}`);
    return next;
  }

  /** The next byte that is no white space. */
  spaces(at: number): number {
    let next = at;
    while (this.#view.getUint8(next) <= SPACE) next += 1;
    return next;
  }

  is(at: number, character: string): boolean {
    return this.#view.getUint8(at) === character.charCodeAt(0);
  }

  /** Whether exactly `text`, of ASCII, lies from `start` to `end`. */
  reads(start: number, end: number, text: string): boolean {
    if (end - start !== text.length) return false;
    for (let index = 0; index < text.length; index += 1) {
      if (this.#view.getUint8(start + index) !== text.charCodeAt(index)) return false;
    }
    return true;
  }

  #past(at: number, character: string): number {
    if (!this.is(at, character)) throw new Unreadable(`no ${character} at byte ${at}`);
    return at + 1;
  }
}

/** White space, `,`, `]` or `}`. */
function isAfterScalar(byte: number): boolean {
  return byte <= SPACE || byte === 0x2c || byte === 0x5d || byte === CLOSE;
}
