/** An untrusted object: every field may have any type. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null;
}
