/** The newest tag that `go install` can build. */
export const TEMPORAL_CLI_VERSION: string;

/** Where a CLI that was made here is kept: `SLUICE_CACHE_DIR`, else `sluice` in the user's cache directory. */
export function cacheDir(env?: NodeJS.ProcessEnv): string;

/** A CLI that needs no work: `TEMPORAL_CLI_PATH`, PATH, cache. Null when there is none. */
export function findTemporalCli(env?: NodeJS.ProcessEnv): string | null;

/** The path of a Temporal CLI: found, else the official download, else built with Go. `say` gets one line a step. */
export function ensureTemporalCli(options?: {
  env?: NodeJS.ProcessEnv;
  say?: (line: string) => void;
}): Promise<string>;
