// Runs all static checks concurrently: words, type names, format, lint with room borders, types, dead code. Prints the output of failed checks.
import { spawn } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapOrExit } from './bootstrap.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(ROOT, 'node_modules', '.bin');

const CHECKS = [
  ['node', join(ROOT, 'scripts', 'borders.mjs'), '--check'],
  ['node', join(ROOT, 'scripts', 'dialect.mjs'), '--check'],
  ['node', join(ROOT, 'scripts', 'house.mjs'), '--check-types'],
  ['node', '--import', 'tsx', join(ROOT, 'scripts', 'client-api.mjs'), '--check'],
  ['biome', 'check', '--error-on-warnings'],
  ['oxlint', '--type-aware', '--deny-warnings'],
  ['tsc', '-p', '.'],
  ['knip', '--no-progress'],
];

/** @param {string[]} check @returns {Promise<boolean>} */
async function passes([name = '', ...args]) {
  const started = Date.now();
  const output = /** @type {string[]} */ ([]);
  const windows = process.platform === 'win32';
  const isNode = name === 'node';
  const command = isNode ? process.execPath : join(BIN, windows ? `${name}.cmd` : name);
  const child = spawn(command, args, {
    cwd: ROOT,
    shell: windows && !isNode,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
  const code = await new Promise((resolve) => {
    child.once('error', (error) => output.push(error.message));
    child.once('close', resolve);
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${code === 0 ? 'ok    ' : 'FAILED'} ${isNode ? basename(args.at(-2) ?? '') : name} (${seconds} s)\n`,
  );
  if (code !== 0) process.stdout.write(`${output.join('').trimEnd()}\n`);
  return code === 0;
}

await bootstrapOrExit({ temporal: false, peers: true });
let failed = 0;
for (const check of CHECKS) if (!(await passes(check))) failed += 1;
process.exit(failed === 0 ? 0 : 1);
