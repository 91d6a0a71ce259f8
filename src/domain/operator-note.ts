/** An untrusted object. Each field can have any type. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** The author and the reason of an operator's command, which are stored with it. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}
