/** An untrusted object: every field may have any type. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** The stored author and reason of an order. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}

const LONGEST = 500;

/** Makes any value storable as a note. A signal may carry any payload, and its order must not be lost. */
export function operatorNoteOf(payload: unknown): OperatorNote {
  const { actor, reason }: Fields = isFields(payload) ? payload : {};
  return { actor: textOf(actor, 'a signal'), reason: textOf(reason, 'no reason given') };
}

/** PostgreSQL text cannot contain NUL. */
function textOf(value: unknown, otherwise: string): string {
  const text = typeof value === 'string' ? value.replaceAll('\0', '').trim().slice(0, LONGEST) : '';
  return text === '' ? otherwise : text;
}
