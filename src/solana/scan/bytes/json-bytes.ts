import { lowestMark, quoteMarksOf, U32_BYTES } from './u32.ts';

const QUOTE = 0x22;
const SPACE = 0x20;
/**
 * Digits, signs, commas, colons and white space are below this byte; brackets and the letters of literals are above.
 */
const FIRST_LETTER = 0x40;
/** The only bit in which `{` and `[` differ, and `}` and `]`. */
const BRACKET_BIT = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const PLUS = 0x2b;
const COLON = 0x3a;

/** The bits that are 0 in every byte of a u32 if each byte is below {@link FIRST_LETTER}. */
const NOT_BELOW_FIRST_LETTER = 0xc0c0c0c0 | 0;
const FIRST_LETTER_U32 = 0x40404040;
const COMMAS = 0x2c2c2c2c;

/** The bytes have an unexpected form, so that only a parse can read them. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Receives the byte range of a string without its quotes. */
export type OnText = (start: number, end: number) => void;

/** Reads a member's value and returns the position after it. */
export type VisitMember = (value: number, key: string) => number;

/**
 * Reads JSON in place, without creating values. The text must not contain a backslash, so that each quote begins or
 * ends a string. Positions count bytes: each method takes the position of a value and returns the position after it.
 * Some invalid JSON is accepted. Methods throw {@link Unreadable}, and RangeError if the text ends too soon.
 */
export class JsonBytes {
  readonly view: DataView;
  elementCount = 0;
  readonly #lastU32: number;

  constructor(view: DataView) {
    this.view = view;
    this.#lastU32 = view.byteLength - U32_BYTES;
  }

  /** Calls `visit` for each member of an object. Throws Unreadable for a duplicate key. */
  object(at: number, visit: VisitMember): number {
    const view = this.view;
    const next = spaces(view, expectByte(view, at, OPEN_BRACE));
    return view.getUint8(next) === CLOSE_BRACE ? next + 1 : this.#members(next, visit, new Set());
  }

  /** Like {@link object}, for the rest of an object from the end of a member's value. `keys`: the keys before it. */
  remainingMembers(at: number, visit: VisitMember, keys: Set<string>): number {
    const view = this.view;
    const next = spaces(view, at);
    if (view.getUint8(next) === CLOSE_BRACE) return next + 1;
    return this.#members(spaces(view, expectByte(view, next, COMMA)), visit, keys);
  }

  /** Calls `visit` for each element of an array. `visit` reads the element and returns the position after it. */
  array(at: number, visit: (element: number) => number): number {
    const view = this.view;
    let next = spaces(view, expectByte(view, at, OPEN_BRACKET));
    if (view.getUint8(next) === CLOSE_BRACKET) return next + 1;
    for (;;) {
      next = spaces(view, visit(next));
      if (view.getUint8(next) === CLOSE_BRACKET) return next + 1;
      next = spaces(view, expectByte(view, next, COMMA));
    }
  }

  /** Skips a value of any kind. Calls `onText` for each string in it, including keys. */
  value(at: number, onText?: OnText): number {
    const view = this.view;
    let depth = 0;
    let next = at;
    for (;;) {
      const byte = view.getUint8(next);
      if (byte === QUOTE) {
        const end = this.textEnd(next + 1);
        if (onText !== undefined) onText(next + 1, end);
        next = end + 1;
        if (depth === 0) return next;
      } else if (byte < FIRST_LETTER) {
        if (depth === 0) return this.scalarEnd(next);
        next += 1;
      } else {
        const bracket = byte | BRACKET_BIT;
        if (bracket === OPEN_BRACE) depth += 1;
        else if (bracket === CLOSE_BRACE) {
          depth -= 1;
          if (depth <= 0) return next + 1;
        } else if (depth === 0) return this.scalarEnd(next);
        next += 1;
      }
    }
  }

  /** Skips an array and sets {@link elementCount}. It is fastest for an array of numbers. */
  numbers(at: number): number {
    const view = this.view;
    const lastU32 = this.#lastU32;
    const first = expectByte(view, at, OPEN_BRACKET);
    let commas = 0;
    let next = first;
    for (; next <= lastU32; next += U32_BYTES) {
      const u32 = view.getInt32(next, true);
      if ((u32 & NOT_BELOW_FIRST_LETTER) !== 0 || quoteMarksOf(u32) !== 0) break;
      commas += commasIn(u32);
    }
    for (let byte = view.getUint8(next); byte < FIRST_LETTER && byte !== QUOTE; byte = view.getUint8(next)) {
      if (byte === COMMA) commas += 1;
      next += 1;
    }
    if (!this.is(next, ']')) return this.#elements(at);
    this.elementCount = commas > 0 || spaces(view, first) < next ? commas + 1 : 0;
    return next + 1;
  }

  textEnd(at: number): number {
    const view = this.view;
    const lastU32 = this.#lastU32;
    let next = at;
    for (; next <= lastU32; next += U32_BYTES) {
      const marks = quoteMarksOf(view.getInt32(next, true));
      if (marks !== 0) return next + lowestMark(marks);
    }
    while (view.getUint8(next) !== QUOTE) next += 1;
    return next;
  }

  scalarEnd(at: number): number {
    let next = at;
    while (!isAfterScalar(this.view.getUint8(next))) next += 1;
    if (next === at) throw new Unreadable(`byte ${at} does not begin a value`);
    return next;
  }

  spaces(at: number): number {
    return spaces(this.view, at);
  }

  is(at: number, character: string): boolean {
    return this.view.getUint8(at) === character.charCodeAt(0);
  }

  isText(start: number, end: number, text: string): boolean {
    if (end - start !== text.length) return false;
    for (let index = 0; index < text.length; index += 1) {
      if (this.view.getUint8(start + index) !== text.charCodeAt(index)) return false;
    }
    return true;
  }

  text(start: number, end: number): string {
    const { buffer, byteOffset } = this.view;
    return Buffer.from(buffer, byteOffset + start, end - start).toString('latin1');
  }

  #elements(at: number): number {
    let count = 0;
    const end = this.array(at, (element) => {
      count += 1;
      return this.value(element);
    });
    this.elementCount = count;
    return end;
  }

  #members(at: number, visit: VisitMember, keys: Set<string>): number {
    const view = this.view;
    let next = at;
    for (;;) {
      const start = expectByte(view, next, QUOTE);
      const end = this.textEnd(start);
      const key = this.text(start, end);
      if (keys.has(key)) throw new Unreadable(`the name at byte ${start} is there twice`);
      keys.add(key);
      const value = spaces(view, expectByte(view, spaces(view, end + 1), COLON));
      next = spaces(view, visit(value, key));
      if (view.getUint8(next) === CLOSE_BRACE) return next + 1;
      next = spaces(view, expectByte(view, next, COMMA));
    }
  }
}

/** The number of commas in the four bytes of `u32`; each byte must be below {@link FIRST_LETTER}. */
function commasIn(u32: number): number {
  const marks = (FIRST_LETTER_U32 - (u32 ^ COMMAS)) & FIRST_LETTER_U32;
  return Math.imul(marks >>> 6, 0x01010101) >>> 24;
}

function spaces(view: DataView, at: number): number {
  let next = at;
  while (isWhiteSpace(view.getUint8(next))) next += 1;
  return next;
}

function expectByte(view: DataView, at: number, byte: number): number {
  if (view.getUint8(at) === byte) return at + 1;
  throw new Unreadable(`byte ${at} is not ${String.fromCharCode(byte)}`);
}

/** True for white space: in JSON, all other bytes are above the space. */
export function isWhiteSpace(byte: number): boolean {
  return byte <= SPACE;
}

/** True if a value that begins with `byte` is a number, null, true or false. */
export function isScalarStart(byte: number): boolean {
  return !isWhiteSpace(byte) && byte !== QUOTE && (byte | BRACKET_BIT) !== OPEN_BRACE;
}

/** True for white space, `,`, `]` and `}`, the only bytes that can follow a number or literal in JSON. */
function isAfterScalar(byte: number): boolean {
  return (byte <= COMMA && byte !== PLUS) || (byte | BRACKET_BIT) === CLOSE_BRACE;
}
