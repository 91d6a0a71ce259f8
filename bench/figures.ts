/** The duration of `work`. */
export function milliseconds(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

/** The duration of `work`, and its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ milliseconds: number; value: T }> {
  const started = performance.now();
  const value = await work();
  return { milliseconds: performance.now() - started, value };
}

/** The median; NaN for no values. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

/** The figures with three decimal places. */
export function rounded(figures: object): object {
  return JSON.parse(JSON.stringify(figures), (_key, value: unknown) =>
    typeof value === 'number' ? Math.round(value * 1_000) / 1_000 : value,
  ) as object;
}
