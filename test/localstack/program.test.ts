import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { nodeProgram } from '../../devkit/localstack/program.ts';

const WORKER = new URL('../../src/worker.ts', import.meta.url);
const SERVER = new URL('../../src/server.ts', import.meta.url);

const directory = mkdtempSync(join(tmpdir(), 'sluice-compiled-'));
mkdirSync(join(directory, 'src'));
writeFileSync(join(directory, 'src', 'worker.js'), '');

afterEach(() => vi.unstubAllEnvs());

test('a program runs compiled where its starter names the compiled file and the file exists', () => {
  const compiled = { compiledIn: directory };
  expect(nodeProgram(WORKER, ['one'], compiled).args.slice(-2)).toEqual([
    join(directory, 'src', 'worker.js'),
    'one',
  ]);
  expect(nodeProgram(SERVER, [], compiled).args.at(-1)).toBe(fileURLToPath(SERVER));
});

test('a program runs from its source, whatever the environment contains', () => {
  vi.stubEnv('COMPILED_PROGRAMS', directory);
  expect(nodeProgram(WORKER).args.at(-1)).toBe(fileURLToPath(WORKER));
});
