import { type Fields, isFields } from './fields.ts';

/** The stored author and reason of an order. */
export interface Word {
  readonly who: string;
  readonly why: string;
}

const LONGEST = 500;

/** Makes any value storable as a note. A signal may carry any payload, and its order must not be lost. */
export function wordOf(given: unknown): Word {
  const { who, why }: Fields = isFields(given) ? given : {};
  return { who: textOf(who, 'a signal'), why: textOf(why, 'no reason given') };
}

/** PostgreSQL text cannot contain NUL. */
function textOf(given: unknown, otherwise: string): string {
  const text = typeof given === 'string' ? given.replaceAll('\0', '').trim().slice(0, LONGEST) : '';
  return text === '' ? otherwise : text;
}
