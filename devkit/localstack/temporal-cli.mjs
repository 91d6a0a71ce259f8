// Finds, downloads or builds the Temporal CLI. Imports only Node.js modules: scripts/bootstrap.mjs runs it before packages are installed.
import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export const TEMPORAL_CLI_VERSION = '1.5.1';

const MODULE = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`;
const EXECUTABLE = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
const SILENCE_TIMEOUT_MS = 5_000;

/** The directory of a downloaded or built CLI. @param {NodeJS.ProcessEnv} env */
export function cacheDir(env = process.env) {
  return env.SLUICE_CACHE_DIR || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice');
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} name @param {NodeJS.ProcessEnv} env */
function onPath(name, env) {
  const dirs = (env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  return dirs.map((dir) => join(dir, name)).find(isProgram) ?? null;
}

/** @param {NodeJS.ProcessEnv} env */
function cachedProgram(env) {
  return join(cacheDir(env), `temporal-v${TEMPORAL_CLI_VERSION}`, EXECUTABLE);
}

/** The path of an existing CLI: `TEMPORAL_CLI_PATH`, PATH, cache; null if there is none. @param {NodeJS.ProcessEnv} env */
export function findTemporalCli(env = process.env) {
  const path = env.TEMPORAL_CLI_PATH;
  if (path) {
    if (!isProgram(path)) throw new Error(`TEMPORAL_CLI_PATH=${path} is not an executable file`);
    return path;
  }
  const found = onPath(EXECUTABLE, env);
  if (found !== null) return found;
  return isProgram(cachedProgram(env)) ? cachedProgram(env) : null;
}

/**
 * Copies a program into the cache. The final rename is atomic, so that concurrent processes always find a complete file.
 * @param {string} program @param {NodeJS.ProcessEnv} env
 */
function addToCache(program, env) {
  const result = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 30_000 });
  if (result.status !== 0)
    throw new Error(`${EXECUTABLE} --version failed: ${result.stderr || result.error?.message}`);
  const target = cachedProgram(env);
  mkdirSync(join(target, '..'), { recursive: true });
  const partial = `${target}.${process.pid}`;
  copyFileSync(program, partial);
  chmodSync(partial, 0o755);
  renameSync(partial, target);
  return target;
}

function archiveUrl() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const machine = process.arch === 'x64' ? 'amd64' : process.arch;
  const extension = system === 'windows' ? 'zip' : 'tar.gz';
  const name = `temporal_cli_${TEMPORAL_CLI_VERSION}_${system}_${machine}.${extension}`;
  return `https://github.com/temporalio/cli/releases/download/v${TEMPORAL_CLI_VERSION}/${name}`;
}

/** Throws if no byte arrives for `SILENCE_TIMEOUT_MS`. @param {string} dir @param {NodeJS.ProcessEnv} env */
async function download(dir, env) {
  const silence = new AbortController();
  const giveUp = () => silence.abort(new Error(`no byte arrived for ${SILENCE_TIMEOUT_MS / 1000} s`));
  let timer = setTimeout(giveUp, SILENCE_TIMEOUT_MS);
  try {
    const response = await fetch(archiveUrl(), { signal: silence.signal });
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
    const archive = join(dir, 'archive');
    const body = Readable.fromWeb(/** @type {import('node:stream/web').ReadableStream} */ (response.body));
    body.on('data', () => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE_TIMEOUT_MS);
    });
    await pipeline(body, createWriteStream(archive), { signal: silence.signal });
    const unpacked = spawnSync('tar', ['-xf', archive, '-C', dir], { encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(`tar failed: ${unpacked.stderr || unpacked.error?.message}`);
    return addToCache(join(dir, EXECUTABLE), env);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} dir @param {NodeJS.ProcessEnv} env @returns {Promise<string>} */
async function build(dir, env) {
  const output = /** @type {string[]} */ ([]);
  const child = spawn('go', ['install', MODULE], {
    env: { ...env, GOBIN: dir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0)
    throw new Error(
      `go install ended with exit code ${code}: ${output.join('').trim().split('\n').slice(-3).join(' | ')}`,
    );
  return addToCache(join(dir, EXECUTABLE), env);
}

/** @param {unknown} error */
function messageOf(error) {
  const { message, cause } = /** @type {Error} */ (error);
  return cause instanceof Error && cause.message ? `${message}: ${cause.message}` : message;
}

/**
 * The path of a Temporal CLI: an existing one, else the official download, else one built with Go.
 * @param {{ env?: NodeJS.ProcessEnv, say?: (line: string) => void }} [options]
 * @returns {Promise<string>}
 */
export async function ensureTemporalCli({ env = process.env, say = () => {} } = {}) {
  const found = findTemporalCli(env);
  if (found !== null) return found;
  const dir = mkdtempSync(join(tmpdir(), 'sluice-temporal-'));
  const failures = /** @type {string[]} */ ([]);
  try {
    say(`Temporal CLI: downloading v${TEMPORAL_CLI_VERSION}`);
    try {
      return await download(dir, env);
    } catch (error) {
      failures.push(`download: ${messageOf(error)}`);
    }
    if (onPath(process.platform === 'win32' ? 'go.exe' : 'go', env) === null)
      failures.push('build: go is not on PATH');
    else {
      say(
        `Temporal CLI: not downloaded (${failures[0]}); building v${TEMPORAL_CLI_VERSION} with Go once, which takes 2 to 5 minutes`,
      );
      try {
        return await build(dir, env);
      } catch (error) {
        failures.push(`build: ${messageOf(error)}`);
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  throw new Error(
    `The Temporal CLI is missing (${failures.join('; ')}). Install it (https://docs.temporal.io/cli) on PATH or set TEMPORAL_CLI_PATH to it, install Go, or set TEMPORAL_ADDRESS to a running server.`,
  );
}
