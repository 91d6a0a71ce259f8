import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect, onTestFinished, test } from 'vitest';
import { developmentProgram } from '../../devkit/demo/program.ts';
import { openService } from '../http/service.ts';
import { blocksOf, ROOT } from './readme-blocks.ts';

const SECTIONS = ['The first withdrawal', 'The first deposit'];
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const blocks = SECTIONS.flatMap(blocksOf);
const lines = blocks.join('\n').replaceAll('\\\n', ' ').split('\n');

test('each TypeScript program of README has the types of the client', async () => {
  mkdirSync(join(ROOT, '.sluice'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, '.sluice/readme-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const programs = blocks.filter((code) => code.includes("from 'sluice/client'"));
  for (const [index, program] of programs.entries())
    writeFileSync(join(directory, `program-${index}.ts`), program);
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { paths: { 'sluice/client': ['../../src/client/client.ts'] } },
      include: ['*.ts'],
    }),
  );
  expect(programs).toHaveLength(2);
  await promisify(execFile)(process.execPath, [TSC, '-p', directory]);
});

test('each command line of README is a command of sluice with options that it has', () => {
  const commands = lines.flatMap((line) => /^npm run sluice -- (.+)$/.exec(line)?.[1]?.trim() ?? []);
  expect(commands.length).toBeGreaterThan(4);
  for (const text of commands) {
    const words = text.split(/\s+/);
    const command = commandOf(developmentProgram(), words);
    const known = command.options.map(({ long }) => long);
    expect(known, text).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('--'))));
  }
});

test('each path that README asks the API for is a path of the API', async () => {
  const service = await openService();
  onTestFinished(() => service.close());
  const { paths } = (await service.app.inject('/openapi.json')).json<{ paths: object }>();
  const templates = Object.keys(paths).map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  const asked = [...blocks.join('\n').matchAll(/"\$API(\/[^"?]+)/g)].map(([, path = '']) => path);
  expect(asked).toHaveLength(4);
  for (const path of asked)
    expect(
      templates.some((template) => template.test(path)),
      path,
    ).toBe(true);
});

/** The command below `program` that the first words name. */
function commandOf(program: CommandUnknownOpts, [word = '', ...rest]: readonly string[]): CommandUnknownOpts {
  const found = program.commands.find((command) => command.name() === word);
  if (found === undefined) throw new Error(`sluice has no command ${word}`);
  return found.commands.some((command) => command.name() === rest[0]) ? commandOf(found, rest) : found;
}
