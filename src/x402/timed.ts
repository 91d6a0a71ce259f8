import type { ObserveStage, PaymentStage } from '../domain/payment-stages.ts';

/** Observes the time until the work ends, with or without an error. */
export async function timed<Result>(
  observe: ObserveStage,
  stage: PaymentStage,
  work: () => Promise<Result>,
): Promise<Result> {
  const begin = performance.now();
  try {
    return await work();
  } finally {
    observe(stage, secondsSince(begin));
  }
}

/** Seconds since a time of `performance.now()`. */
export function secondsSince(begin: number): number {
  return (performance.now() - begin) / 1_000;
}
