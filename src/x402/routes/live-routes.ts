import { messageOf } from '../../domain/errors.ts';
import type { RoutesVersionHead } from '../../domain/route-versions.ts';
import type { RoutesVersionWithContent, RouteVersions } from '../../ledger/x402/route-versions.ts';
import type { RoutesContext } from './faults.ts';
import { readContent, routesOf } from './read-routes.ts';
import type { PricedRoute, Route } from './route.ts';
import { pricedOf, type RouteBook, routeBook } from './route-book.ts';

export interface LiveRoutesDeps {
  readonly versions: Pick<RouteVersions, 'head' | 'recent' | 'publish'>;
  /** Path of the routes file. */
  readonly file: string;
  readonly place: RoutesContext;
  /** Routes of earlier versions are kept for as long as the answers of their payments: setting `x402RetentionDays`. */
  readonly retentionDays: number;
  readonly warn: (error: unknown, message: string) => void;
}

/** Name of the author of versions that a gateway stores. */
const ACTOR = 'gateway';

/** Why a gateway does not sell the newest routes. */
export interface RoutesFault {
  readonly reason: string;
  readonly since: Date;
}

/**
 * The versions as this gateway reads them. `head`: the newest version that is valid here. `fault`: why it is not the newest
 * one; null if it is.
 */
interface ReadVersions {
  readonly newest: RoutesVersionHead;
  readonly head: RoutesVersionHead;
  readonly book: RouteBook;
  readonly fault: RoutesFault | null;
}

/** The routes that a gateway sells: those of the newest version that is valid in its process. */
export class LiveRoutes {
  readonly #deps: LiveRoutesDeps;
  #read: ReadVersions;
  #following: Promise<boolean> | null = null;
  /** The failure to use the newest version; null if the last try succeeded. */
  #readFault: RoutesFault | null = null;
  /** The failure of the last reload of the file, until another version is sold. */
  #fileFault: RoutesFault | null = null;

  private constructor(deps: LiveRoutesDeps, read: ReadVersions) {
    this.#deps = deps;
    this.#read = read;
  }

  /** Stores the file if it has changed, and reads the versions. Throws InvalidRequest if the file is not valid. */
  static async start(deps: LiveRoutesDeps): Promise<LiveRoutes> {
    await publishFile(deps, 'start', 'the gateway started with this routes file');
    return new LiveRoutes(deps, await readVersions(deps));
  }

  get book(): RouteBook {
    return this.#read.book;
  }

  /** Why this gateway does not sell the newest version or the routes file of the last reload; null if it does. */
  get fault(): RoutesFault | null {
    return this.#readFault ?? this.#read.fault ?? this.#fileFault;
  }

  /** Stores the file as the newest version. Throws InvalidRequest, and changes nothing, if it is not valid. */
  async reload(): Promise<void> {
    try {
      await publishFile(this.#deps, 'reload', 'the gateway received SIGHUP');
      this.#fileFault = null;
    } catch (error) {
      this.#fileFault = faultOf('the routes file was not reloaded', error);
      throw error;
    }
  }

  /**
   * Sells the newest version, after `prepare` has read its terms. Returns whether the routes have changed. Concurrent calls
   * are one.
   */
  follow(prepare: (routes: readonly PricedRoute[]) => Promise<void>): Promise<boolean> {
    this.#following ??= this.#follow(prepare).finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  async #follow(prepare: (routes: readonly PricedRoute[]) => Promise<void>): Promise<boolean> {
    try {
      const isChanged = await this.#readNewest(prepare);
      this.#readFault = null;
      if (isChanged) this.#fileFault = null;
      return isChanged;
    } catch (error) {
      this.#readFault ??= faultOf('the newest version of the routes cannot be used', error);
      throw error;
    }
  }

  async #readNewest(prepare: (routes: readonly PricedRoute[]) => Promise<void>): Promise<boolean> {
    const newest = await this.#deps.versions.head();
    if (newest === null || isSame(newest, this.#read.newest)) return false;
    const read = await readVersions(this.#deps);
    const isChanged = !isSame(read.head, this.#read.head);
    if (isChanged) await prepare(pricedOf(read.book.current));
    this.#read = read;
    return isChanged;
  }
}

async function publishFile(
  { versions, file, place }: LiveRoutesDeps,
  kind: 'start' | 'reload',
  reason: string,
): Promise<void> {
  const content = readContent(file);
  routesOf(content, place, file);
  await versions.publish({ kind, content, actor: ACTOR, reason });
}

/** Logs a newer version that is not valid here. Throws its error if no version is valid. */
async function readVersions(deps: LiveRoutesDeps): Promise<ReadVersions> {
  const versions = await deps.versions.recent(deps.retentionDays);
  const [newest] = versions;
  if (newest === undefined) throw new Error('the database has no version of the routes');
  let fault: unknown = null;
  for (const [index, head] of versions.entries())
    try {
      const current = routesOf(head.content, deps.place, `version ${head.position} of the routes`);
      const earlier = versions.slice(index + 1).map((version) => formerRoutes(deps, version));
      const book = routeBook(current, head.createdAt, earlier);
      const outdated = `version ${newest.position} of the routes is not valid here`;
      return { newest, head, book, fault: fault === null ? null : faultOf(outdated, fault) };
    } catch (error) {
      fault ??= error;
      deps.warn(
        error,
        `version ${head.position} of the routes is not valid here: an earlier version is sold`,
      );
    }
  throw fault;
}

/** Routes of an earlier version. Environment variables of its headers may be gone. */
function formerRoutes(
  { place, warn }: LiveRoutesDeps,
  { position, content }: RoutesVersionWithContent,
): readonly Route[] {
  const { upstreamVariables: _variables, ...here } = place;
  try {
    return routesOf(content, here, `version ${position} of the routes`);
  } catch (error) {
    warn(error, `payments for routes that only version ${position} has cannot be presented again`);
    return [];
  }
}

function faultOf(what: string, error: unknown): RoutesFault {
  return { reason: `${what}: ${messageOf(error)}`, since: new Date() };
}

function isSame(one: RoutesVersionHead, other: RoutesVersionHead | null): boolean {
  return one.position === other?.position && one.hash === other.hash;
}
