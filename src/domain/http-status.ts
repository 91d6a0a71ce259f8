/** Request Timeout, Too Early, Too Many Requests. */
const TRANSIENT_REFUSALS: readonly number[] = [408, 425, 429];

/** True if a later repetition of the same request can get another response. */
export function isTransientFailure(status: number): boolean {
  return status >= 500 || TRANSIENT_REFUSALS.includes(status);
}
