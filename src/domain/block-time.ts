/** End of the year 9999 in Unix seconds. ISO-8601 readers disagree about later dates. */
const END = 253_402_300_800n;

export function isBlockTime(seconds: bigint): boolean {
  return seconds >= 0n && seconds < END;
}

/** Block time as ISO-8601, from Unix seconds. Null if it is unknown or invalid. */
export function presentBlockTime(seconds: bigint | null): string | null {
  return seconds === null || !isBlockTime(seconds) ? null : new Date(Number(seconds) * 1_000).toISOString();
}
