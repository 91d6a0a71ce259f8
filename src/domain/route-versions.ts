/** A stored version of the x402 routes. Positions count up from 1. */
export interface RoutesVersionHead {
  readonly position: bigint;
  /** SHA-256 of the content, in hex. */
  readonly hash: string;
}

/** The newest version, and the newest version that came from the routes file. Null: there is none. */
export interface RoutesHeads {
  readonly newest: RoutesVersionHead | null;
  readonly newestOfFile: RoutesVersionHead | null;
}

/**
 * A request to make these routes the newest version. `start` and `reload`: a gateway starts, or gets SIGHUP, with this
 * file. `put`: an API call that replaces version `expected`; 0 if there is none.
 */
export type RoutesRequest = { readonly hash: string } & (
  | { readonly kind: 'start' | 'reload' }
  | { readonly kind: 'put'; readonly expected: bigint }
);

/**
 * Whether the request stores a new version, keeps the newest one, or conflicts with it.
 *
 * - A start stores only a file that differs from the last file, so that a crash does not undo a `put`.
 * - A reload stores the file, also if a `put` came later.
 * - A `put` is stored only directly after the version that its author has seen. A repeated `put` keeps its own version.
 */
export function routesStep(
  { newest, newestOfFile }: RoutesHeads,
  request: RoutesRequest,
): 'store' | 'keep' | 'conflict' {
  const { hash } = request;
  const isNewest = newest?.hash === hash;
  if (request.kind !== 'put') {
    const isLastFile = newestOfFile?.hash === hash;
    return isLastFile && (isNewest || request.kind === 'start') ? 'keep' : 'store';
  }
  const position = newest?.position ?? 0n;
  if (position === request.expected) return isNewest ? 'keep' : 'store';
  return isNewest && position === request.expected + 1n ? 'keep' : 'conflict';
}
