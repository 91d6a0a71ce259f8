// `node scripts/run.mjs [--no-temporal] [--peers] <program> [argument…]`: bootstrap, then the program with all arguments, its exit code
// and its signals. `--peers` installs the packages of test/peers, too.
// A program that ends in .ts runs under tsx; any other is a command of node_modules/.bin.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failureLine, wantsJson } from '../src/cli/failure-line.mjs';
import { bootstrapOrExit } from './bootstrap.mjs';

const PARENT = process.ppid;
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const PARENT_CHECK_MS = 500;

const given = process.argv.slice(2);
const temporal = !takeFlag('--no-temporal');
const peers = takeFlag('--peers');
const [program, ...args] = given;
if (program === undefined) {
  process.stderr.write('usage: node scripts/run.mjs [--no-temporal] [--peers] <program> [argument…]\n');
  process.exit(2);
}

const json = wantsJson(args);
await bootstrapOrExit({ temporal, peers, json });

const windows = process.platform === 'win32';
const [command, first] = program.endsWith('.ts')
  ? [process.execPath, ['--import', 'tsx', join(ROOT, program)]]
  : [join(ROOT, 'node_modules', '.bin', windows ? `${program}.cmd` : program), []];
const child = spawn(command, [...first, ...args], {
  cwd: ROOT,
  stdio: 'inherit',
  shell: windows && first.length === 0,
});

// Ctrl-C in a terminal reaches the program as well; a signal sent to this process alone must be handed on.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
}
// On SIGTERM npm's shell ends without forwarding the signal. So when the parent of this process has ended, stop the program. Send only one
// signal, because the program stops at once on a second one.
if (process.env.npm_lifecycle_event !== undefined) {
  const watch = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, PARENT_CHECK_MS).unref();
}
child.once('error', (error) => fail(`${program} cannot be started: ${error.message}`, 1));
child.once('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  fail(`${program} was ended by ${signal}`, 128 + constants.signals[signal]);
});

/** Takes the flag from the start of the arguments. @param {string} flag @returns {boolean} whether it was there */
function takeFlag(flag) {
  if (given[0] !== flag) return false;
  given.shift();
  return true;
}

/** Reports a program that ended without a message. @param {string} message @param {number} exitCode */
function fail(message, exitCode) {
  process.stderr.write(`sluice: ${message}\n`);
  if (json) process.stdout.write(failureLine('ProgramFailed', message));
  process.exit(exitCode);
}
