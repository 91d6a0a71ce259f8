import { type Fields, isFields } from './fields.ts';

/** Who does something, and why: kept on record. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}

const LONGEST = 500;

/**
 * What somebody gave as a word, whatever it is, as it can be kept on record: a signal may carry anything, and its order must not be lost.
 */
export function operatorNoteOf(given: unknown): OperatorNote {
  const { actor, reason }: Fields = isFields(given) ? given : {};
  return { actor: textOf(actor, 'a signal'), reason: textOf(reason, 'no reason given') };
}

/** PostgreSQL holds every text but one with a NUL. */
function textOf(given: unknown, otherwise: string): string {
  const text = typeof given === 'string' ? given.replaceAll('\0', '').trim().slice(0, LONGEST) : '';
  return text === '' ? otherwise : text;
}
