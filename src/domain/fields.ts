/** What somebody sent, of which any field may be anything. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null;
}
