/** How long `work` takes. */
export function milliseconds(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

/** How long it takes until `work` is done, and what comes of it. */
export async function timed<T>(work: () => Promise<T>): Promise<{ milliseconds: number; value: T }> {
  const started = performance.now();
  const value = await work();
  return { milliseconds: performance.now() - started, value };
}

/** The middle one; NaN of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}
