/** A value as JSON, bigint as decimal strings; null for null and undefined. */
export function toJson(proof: unknown): string | null {
  if (proof === null || proof === undefined) return null;
  return JSON.stringify(proof, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}
