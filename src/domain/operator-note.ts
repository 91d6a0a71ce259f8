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
