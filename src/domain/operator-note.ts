import { type Fields, isFields } from './fields.ts';

/** The stored author and reason of an order. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}

const LONGEST = 500;

/** Makes any value storable as a note. A signal may carry any payload, and its order must not be lost. */
export function operatorNoteOf(given: unknown): OperatorNote {
  const { actor, reason }: Fields = isFields(given) ? given : {};
  return { actor: textOf(actor, 'a signal'), reason: textOf(reason, 'no reason given') };
}

/** PostgreSQL text cannot contain NUL. */
function textOf(given: unknown, otherwise: string): string {
  const text = typeof given === 'string' ? given.replaceAll('\0', '').trim().slice(0, LONGEST) : '';
  return text === '' ? otherwise : text;
}
