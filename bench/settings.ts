/** Setting for the port on which a worker of the benchmark serves its counters. */
export const TALLY_PORT = 'BENCH_TALLY_PORT';

/**
 * A developer's own settings stay outside: withdrawals of a benchmark must never reach a Temporal server whose workers
 * hold real keys, nor a real chain. Where the Temporal CLI is found stays. No scanner runs: scanning is not a cost of a withdrawal.
 */
export function benchEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !['DATABASE_URL', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'].includes(name) &&
      (!name.startsWith('SLUICE_') || name === 'SLUICE_CACHE_DIR'),
  );
  return { ...Object.fromEntries(kept), SLUICE_SCAN: 'false' };
}
