import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect, onTestFinished, test } from 'vitest';
import { developmentProgram } from '../../devkit/demo/program.ts';
import { openService } from '../http/service.ts';
import { programs, ROOT, readmeBlocks } from './readme-blocks.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const blocks = readmeBlocks();
const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
const lines = commands.join('').replaceAll('\\\n', ' ').split('\n');

test('each program of the README that uses the client passes the type check', async () => {
  mkdirSync(join(ROOT, '.sluice'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, '.sluice/readme-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const ofClient = [...programs()].filter(([, program]) => program.includes("from 'sluice/client'"));
  for (const [name, program] of ofClient)
    writeFileSync(join(directory, name.replace('.mjs', '.mts')), program);
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { paths: { 'sluice/client': ['../../src/client/client.ts'] } },
      include: ['*.mts'],
    }),
  );
  expect(ofClient).toHaveLength(1);
  await promisify(execFile)(process.execPath, [TSC, '-p', directory]);
});

test('each command of the README is a command of sluice with existing options', () => {
  const found = lines.flatMap((line) => /npm run (?:-s )?sluice -- ([^>#)]+)/.exec(line)?.[1]?.trim() ?? []);
  expect(found.length).toBeGreaterThan(4);
  for (const text of found) {
    const words = text.split(/\s+/);
    const command = commandOf(developmentProgram(), words);
    const known = command.options.flatMap(({ long, short }) => [long, short]);
    expect(known, text).toEqual(expect.arrayContaining(words.filter((argument) => argument.startsWith('-'))));
  }
});

test('each npm script of the README exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const names = lines.flatMap((line) => /npm run (?:-s )?([\w:]+)/.exec(line)?.[1] ?? []);
  expect(new Set(names)).toEqual(new Set(['dev', 'sluice', 'demo', 'build']));
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
});

test('the README runs the tests with the same command as CI', () => {
  const ci = readFileSync(join(ROOT, '.ci/run'), 'utf8');
  expect(ci).toMatch(/ npm test$/m);
  expect(lines.some((line) => /^npm test( +#|$)/.test(line))).toBe(true);
});

test('the README names the versions of the x402 packages that the tests use', () => {
  const peers = JSON.parse(readFileSync(join(ROOT, 'test/peers/package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const named = [...commands.join('').matchAll(/(@[\w/-]+)@([\d.]+)/g)];
  expect(named).toHaveLength(3);
  for (const [, name = '', version] of named) expect(peers.dependencies[name], name).toBe(version);
});

test('each API path of the README exists', async () => {
  const service = await openService();
  onTestFinished(() => service.close());
  const { paths } = (await service.app.inject('/openapi.json')).json<{ paths: object }>();
  const templates = Object.keys(paths).map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  const asked = [...commands.join('').matchAll(/"\$API(\/[^"?]+)/g)].map(([, path = '']) => path);
  expect(asked).toHaveLength(2);
  for (const path of asked)
    expect(
      templates.some((template) => template.test(path)),
      path,
    ).toBe(true);
});

test('the README has at most 200 lines', () => {
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(200);
});

/** The command below `program` that the first arguments name. */
function commandOf(program: CommandUnknownOpts, [name = '', ...rest]: readonly string[]): CommandUnknownOpts {
  const found = program.commands.find((command) => command.name() === name);
  if (found === undefined) throw new Error(`sluice has no command ${name}`);
  return found.commands.some((command) => command.name() === rest[0]) ? commandOf(found, rest) : found;
}
