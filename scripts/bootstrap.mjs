// Makes a fresh clone ready: packages and the Temporal CLI. Node modules only; speaks on stderr, one line a step.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { failureLine } from '../src/cli/last-word.mjs';
import { ensureTemporalCli } from '../src/localstack/temporal-cli.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LOCK = join(ROOT, 'package-lock.json');
/** What npm leaves behind once all is installed. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');

/** @param {string} line */
const say = (line) => process.stderr.write(`sluice: ${line}\n`);

/** A step that cannot be done; its message says what to install. */
class BootstrapError extends Error {}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  if (!enough)
    throw new BootstrapError(`Node ${process.versions.node} is too old: install Node 20.19 or newer`);
}

/** @param {string} file @returns {Record<string, { version: string, optional?: true, devOptional?: true }>} */
const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/** True where all that the lock file names is there, by whomever it was installed; what other platforms need may be missing. */
function isInstalled() {
  if (!existsSync(INSTALLED)) return false;
  const [wanted, there] = [packagesOf(LOCK), packagesOf(INSTALLED)];
  const isAll = Object.entries(wanted).every(
    ([path, { version, optional, devOptional }]) =>
      path === '' ||
      there[path]?.version === version ||
      (there[path] === undefined && (optional || devOptional)),
  );
  return isAll && Object.keys(there).every((path) => path in wanted);
}

function installPackages() {
  if (isInstalled()) return;
  say('installing packages (npm ci), which takes a minute or some');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const shell = process.platform === 'win32';
  const env = { ...process.env, npm_config_loglevel: 'error' };
  const { status, error } = spawnSync(npm, ['ci'], { cwd: ROOT, env, shell, stdio: ['ignore', 2, 2] });
  if (error) throw new BootstrapError(`npm cannot be started (${error.message}): install npm 10 or newer`);
  if (status !== 0) throw new BootstrapError('npm ci failed: see above; it needs a reachable npm registry');
}

/**
 * Does what is not done yet.
 * @param {{ temporal: boolean }} needs whether a Temporal CLI (or server) is needed, too
 */
export async function bootstrap({ temporal }) {
  checkNode();
  installPackages();
  if (temporal && !process.env.TEMPORAL_ADDRESS) {
    try {
      await ensureTemporalCli({ say });
    } catch (error) {
      throw new BootstrapError(/** @type {Error} */ (error).message);
    }
  }
}

/**
 * {@link bootstrap} that ends the process with one line when a step fails; with `json`, stdout ends with one JSON object, too.
 * @param {{ temporal: boolean, json?: boolean }} needs
 */
export async function bootstrapOrExit({ temporal, json = false }) {
  try {
    await bootstrap({ temporal });
  } catch (error) {
    const { message, stack } = /** @type {Error} */ (error);
    say(error instanceof BootstrapError ? message : (stack ?? message));
    if (json) process.stdout.write(failureLine('BootstrapFailed', message));
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await bootstrapOrExit({ temporal: true });
}
