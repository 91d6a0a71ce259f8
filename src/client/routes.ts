import type { RoutesVersion, StoredRoutes } from './api.ts';
import { ListCalls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

/** The routes of the x402 gateways, and their versions. */
export class RoutesCalls extends ListCalls<'listRoutesVersions', 'versions', RoutesVersion> {
  protected readonly path = '/v1/x402/routes/versions';
  protected readonly items = 'versions';

  /** The newest version, or the version with this number. @throws SluiceError `NotFound` (404). */
  async get(version?: string, options?: CallOptions): Promise<StoredRoutes> {
    return this.read(`/v1/x402/routes${version === undefined ? '' : `?version=${version}`}`, options);
  }

  /**
   * Replaces the routes. `expectedVersion`: the newest version, `0` if there is none.
   *
   * @throws SluiceError `InvalidRequest` (400) with all faults, `VersionConflict` (409).
   */
  async put(
    routes: Readonly<Record<string, unknown>>,
    expectedVersion: string,
    reason: string,
    options?: CallOptions,
  ): Promise<RoutesVersion> {
    return this.send('PUT', '/v1/x402/routes', { expectedVersion, reason, routes }, options);
  }
}
