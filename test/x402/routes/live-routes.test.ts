import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DomainError } from '../../../src/domain/errors.ts';
import type { RouteVersions } from '../../../src/ledger/x402/route-versions.ts';
import { outdatedRoutesWatch } from '../../../src/x402/gateway/outdated-routes-alert.ts';
import { LiveRoutes, type LiveRoutesDeps } from '../../../src/x402/routes/live-routes.ts';
import { useLedger } from '../../ledger/support.ts';
import { DEVNET, priced, WALLET } from './file.ts';

const use = useLedger();
const NOTE = { actor: 'an operator', reason: 'a test' };
let directory: string;
let file: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-live-routes-'));
  file = join(directory, 'x402.routes.json');
  writeFileSync(file, JSON.stringify({ payTo: WALLET, routes: [priced('/first')] }));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function put(path: string, more: object = {}): Promise<void> {
  const { routeVersions } = use.ledger;
  const expected = (await routeVersions.head())?.position ?? 0n;
  const content = { payTo: WALLET, routes: [priced(path, more)] };
  await routeVersions.publish({ kind: 'put', expected, content, ...NOTE });
}

function deps(change: Partial<LiveRoutesDeps> = {}): LiveRoutesDeps & { readonly warnings: string[] } {
  const warnings: string[] = [];
  const warn = (_error: unknown, message: string) => void warnings.push(message);
  const place = { ...DEVNET, upstreamVariables: { UPSTREAM_SET: 'a value' } };
  return { versions: use.ledger.routeVersions, file, place, retentionDays: 30, warn, warnings, ...change };
}

const pathsOf = ({ book }: LiveRoutes) => book.current.map(({ id }) => id);

it('a gateway keeps its routes while it cannot read a new version, and sells the version once it can', async () => {
  const { routeVersions } = use.ledger;
  let isDown = false;
  const recent: RouteVersions['recent'] = async (days) => {
    if (isDown) throw new DomainError('Unavailable', 'the database does not answer');
    return routeVersions.recent(days);
  };
  const versions = {
    head: () => routeVersions.head(),
    publish: routeVersions.publish.bind(routeVersions),
    recent,
  };
  const routes = await LiveRoutes.start(deps({ versions }));
  await put('/second');
  isDown = true;
  await expect(routes.follow(async () => undefined)).rejects.toThrow('does not answer');
  expect(pathsOf(routes)).toEqual(['GET /first']);
  isDown = false;
  const prepared: string[] = [];
  const prepare = async (all: readonly { readonly id: string }[]) => {
    expect(pathsOf(routes)).toEqual(['GET /first']);
    prepared.push(...all.map(({ id }) => id));
  };
  expect(await Promise.all([routes.follow(prepare), routes.follow(prepare)])).toEqual([true, true]);
  expect([pathsOf(routes), prepared]).toEqual([['GET /second'], ['GET /second']]);
  expect(routes.book.former.map(({ id }) => id)).toEqual(['GET /first']);
  expect(await routes.follow(prepare)).toBe(false);
});

it('a version that is not valid in a gateway is reported once, and the one before it is sold, also after a restart', async () => {
  const parts = deps();
  const routes = await LiveRoutes.start(parts);
  await put('/third', { upstreamHeaders: { 'x-token': { env: 'UPSTREAM_MISSING' } } });
  for (const _time of ['first', 'again']) expect(await routes.follow(async () => undefined)).toBe(false);
  expect(pathsOf(routes)).toEqual(['GET /second']);
  expect(parts.warnings).toEqual([expect.stringMatching(/^version 3 of the routes is not valid here/)]);
  expect(pathsOf(await LiveRoutes.start(deps()))).toEqual(['GET /second']);
  await routes.reload();
  expect(await routes.follow(async () => undefined)).toBe(true);
  expect(pathsOf(routes)).toEqual(['GET /first']);
});

it('a gateway that cannot use the newest version, or its file, has an alert from its second check on, until it can', async () => {
  const { alerts, routeVersions, db } = use.ledger;
  let isReadable = true;
  const versions = {
    head: () => routeVersions.head(),
    publish: routeVersions.publish.bind(routeVersions),
    recent: (days: number) =>
      isReadable ? routeVersions.recent(days) : Promise.reject(new Error('another key')),
  };
  const routes = await LiveRoutes.start(deps({ versions }));
  const [here, elsewhere] = [routes, await LiveRoutes.start(deps())].map((each) =>
    outdatedRoutesWatch({ ledger: use.ledger, routes: each }),
  );
  const follow = () => routes.follow(async () => undefined);
  const message = async () => {
    const { rows } = await alerts.list({ open: true, limit: 50 });
    return rows.find(({ kind, subject }) => kind === 'routes_outdated' && subject === 'sluice')?.message;
  };
  const becomes = async (expected: string | null) => {
    const lastSeenAt = sql<Date>`now() - interval '91 seconds'`;
    for (const check of [here, here, elsewhere]) await check?.();
    if (expected !== null) return expect(await message()).toContain(expected);
    await db.updateTable('alert').set({ lastSeenAt }).execute();
    await elsewhere?.();
    expect(await message()).toBeUndefined();
  };
  await put('/fourth', { upstreamHeaders: { 'x-token': { env: 'UPSTREAM_MISSING' } } });
  await follow();
  await here?.();
  expect(await message()).toBeUndefined();
  await becomes('version 5 of the routes is not valid here');
  expect(await message()).toContain(`the gateway on host ${hostname()} does not sell`);
  await put('/fifth');
  isReadable = false;
  for (const _time of ['first', 'again']) await expect(follow()).rejects.toThrow('another key');
  await becomes('cannot be used: another key');
  isReadable = true;
  expect(await follow()).toBe(true);
  await becomes(null);
  const content = readFileSync(file, 'utf8');
  for (const end of [() => routes.reload(), () => put('/sixth')]) {
    writeFileSync(file, 'no JSON');
    await expect(routes.reload()).rejects.toThrow();
    await follow();
    await becomes('the routes file was not reloaded');
    writeFileSync(file, content);
    await end();
    await follow();
    expect(routes.fault).toBeNull();
    await becomes(null);
  }
});

it('a gateway keeps a removed route for as many days as its answers are stored', async () => {
  for (const [path, days] of [
    ['/removed', 50],
    ['/next', 40],
    ['/newest', 0],
  ] as const) {
    await put(path);
    const createdAt = sql<Date>`now() - ${days} * interval '1 day'`;
    const { position } = await use.ledger.routeVersions.get(null);
    await use.ledger.db
      .updateTable('routesVersion')
      .set({ createdAt })
      .where('position', '=', position)
      .execute();
  }
  const former = async (retentionDays: number) => {
    const { book } = await LiveRoutes.start(deps({ retentionDays }));
    return book.former.map(({ id }) => id);
  };
  expect(await former(90)).toContain('GET /removed');
  expect(await former(30)).not.toContain('GET /removed');
});
