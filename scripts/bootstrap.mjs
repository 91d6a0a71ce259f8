// Installs what a fresh clone needs: packages and the Temporal CLI. Imports only Node.js modules; writes one line for each step to stderr.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { failureLine } from '../src/cli/failure-line.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** The official x402 packages, which only tests and benches need. */
const PEERS = join(ROOT, 'test', 'peers');

/** @param {string} line */
const say = (line) => process.stderr.write(`sluice: ${line}\n`);

/** A step has failed; the message names what to install. */
class BootstrapError extends Error {}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  if (!enough)
    throw new BootstrapError(`Node ${process.versions.node} is too old: install Node 20.19 or newer`);
}

/** @param {string} file @returns {Record<string, { version: string, optional?: true, devOptional?: true }>} */
const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/**
 * True if the directory has all packages of its lock file, by whatever client they were installed. Packages for other platforms may be
 * missing.
 * @param {string} directory
 */
function isInstalled(directory) {
  // npm writes this file when all packages are installed.
  const installed = join(directory, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  const [wanted, there] = [packagesOf(join(directory, 'package-lock.json')), packagesOf(installed)];
  const isAll = Object.entries(wanted).every(
    ([path, { version, optional, devOptional }]) =>
      path === '' ||
      there[path]?.version === version ||
      (there[path] === undefined && (optional || devOptional)),
  );
  return isAll && Object.keys(there).every((path) => path in wanted);
}

/** @param {string} directory */
function installPackages(directory) {
  if (isInstalled(directory)) return;
  const where = directory === ROOT ? '' : ` of ${relative(ROOT, directory)}`;
  say(`installing packages${where} (npm ci), which takes up to two minutes`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const shell = process.platform === 'win32';
  const env = { ...process.env, npm_config_loglevel: 'error' };
  const { status, error } = spawnSync(npm, ['ci'], { cwd: directory, env, shell, stdio: ['ignore', 2, 2] });
  if (error) throw new BootstrapError(`npm cannot be started (${error.message}): install npm 10 or newer`);
  if (status !== 0)
    throw new BootstrapError('npm ci failed (its output is above): check that the npm registry is reachable');
}

/**
 * What a program needs besides the packages of the root: a Temporal CLI (or server), and the packages of `test/peers`.
 * @typedef {{ temporal: boolean, peers: boolean }} Needs
 */

/**
 * Installs whatever is missing.
 * @param {Needs} needs
 */
export async function bootstrap({ temporal, peers }) {
  checkNode();
  installPackages(ROOT);
  if (peers) installPackages(PEERS);
  if (temporal && !process.env.TEMPORAL_ADDRESS) {
    // The development kit is missing in a production build.
    const { ensureTemporalCli } = await import('../devkit/localstack/temporal-cli.mjs');
    try {
      await ensureTemporalCli({ say });
    } catch (error) {
      throw new BootstrapError(/** @type {Error} */ (error).message);
    }
  }
}

/**
 * {@link bootstrap} that ends the process with one line when a step fails; with `json`, stdout ends with one JSON object, too.
 * @param {Needs & { json?: boolean }} needs
 */
export async function bootstrapOrExit({ json = false, ...needs }) {
  try {
    await bootstrap(needs);
  } catch (error) {
    const { message, stack } = /** @type {Error} */ (error);
    say(error instanceof BootstrapError ? message : (stack ?? message));
    if (json) process.stdout.write(failureLine('BootstrapFailed', message));
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await bootstrapOrExit({ temporal: true, peers: true });
}
