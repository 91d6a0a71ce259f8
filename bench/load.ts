/** The measurements of a closed loop of requests. */
export interface Load {
  readonly count: number;
  /** From the first start to the last end, with ramp, drain and pauses. */
  readonly seconds: number;
  /** Pauses before requests, summed. They are part of no latency. */
  readonly pausedSeconds: number;
  readonly latenciesMs: readonly number[];
}

/** Runs `one` for 0..count-1 and keeps `inFlight` of them under way until none is left to start. Rejects with the first failure. */
export async function drive(
  count: number,
  inFlight: number,
  one: (index: number) => Promise<unknown>,
): Promise<Load> {
  return driveWhile((index) => index < count, Math.min(inFlight, count), one);
}

/** The same as {@link drive}, for as many as `isNext` accepts, each after its `pause`. */
export async function driveWhile(
  isNext: (index: number) => boolean,
  inFlight: number,
  one: (index: number) => Promise<unknown>,
  pause?: () => Promise<unknown>,
): Promise<Load> {
  const latenciesMs: number[] = [];
  let pausedMs = 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (isNext(next)) {
      const index = next++;
      const pausedAt = performance.now();
      if (pause !== undefined) await pause();
      const startedAt = performance.now();
      pausedMs += startedAt - pausedAt;
      await one(index);
      latenciesMs.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { count: next, seconds, pausedSeconds: pausedMs / 1_000, latenciesMs };
}

/** Combines the measurements of several rounds. */
export function merge(loads: readonly Load[]): Load {
  return {
    count: loads.reduce((sum, load) => sum + load.count, 0),
    seconds: loads.reduce((sum, load) => sum + load.seconds, 0),
    pausedSeconds: loads.reduce((sum, load) => sum + load.pausedSeconds, 0),
    latenciesMs: loads.flatMap((load) => load.latenciesMs),
  };
}

export function perSecond({ count, seconds }: Load): number {
  return count / seconds;
}

/** The latency in milliseconds that the share `quantile` (0..1) of the requests did not exceed. */
export function latencyMs({ latenciesMs }: Load, quantile: number): number {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * quantile) - 1)] ?? Number.NaN;
}
