/** The end of the year 9999, in Unix seconds: what is later has no date that readers of ISO-8601 agree on. */
const END = 253_402_300_800n;

/** True for what can be the time of a block, in Unix seconds. */
export function isBlockTime(seconds: bigint): boolean {
  return seconds >= 0n && seconds < END;
}

/** The time of a block, Unix seconds, as ISO-8601; null where it is not known, or on record as what is no time. */
export function presentBlockTime(seconds: bigint | null): string | null {
  return seconds === null || !isBlockTime(seconds) ? null : new Date(Number(seconds) * 1_000).toISOString();
}
