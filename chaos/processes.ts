/** Application name of the chain workers' sessions in PostgreSQL. */
export const WORKER_APPLICATION = 'chaos-chain-worker';
/** Application name of the driver's sessions in PostgreSQL, which no fault ends. */
export const DRIVER_APPLICATION = 'chaos-driver';

/** Settings that are added to every process, so that faults can be injected into it. */
export function chaosEnvironment(clockFile: string): NodeJS.ProcessEnv {
  const shims = [new URL('./clock.mjs', import.meta.url), new URL('./session-name.mjs', import.meta.url)];
  return {
    NODE_OPTIONS: [process.env.NODE_OPTIONS ?? '', ...shims.map(({ href }) => `--import ${href}`)]
      .join(' ')
      .trim(),
    CHAOS_CLOCK_FILE: clockFile,
    CHAOS_SESSION_NAME: WORKER_APPLICATION,
  };
}
