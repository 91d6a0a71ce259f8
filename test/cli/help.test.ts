import { readdirSync, readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect, test } from 'vitest';
import { developmentProgram } from '../../devkit/demo/program.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';

/** Every command that can be run, with its full name. */
function leavesOf(
  command: CommandUnknownOpts,
  words: string,
): readonly (readonly [string, CommandUnknownOpts])[] {
  if (command.commands.length === 0) return [[words, command]];
  return command.commands.flatMap((child) => leavesOf(child, `${words} ${child.name()}`.trim()));
}

const DEVELOPMENT = ['dev', 'demo'];
const leaves = leavesOf(developmentProgram(), '');

test('every command of the product is a noun and a verb, and prints a table or JSON', () => {
  expect(leaves.length).toBeGreaterThan(40);
  for (const [words, command] of leaves) {
    if (DEVELOPMENT.includes(words)) continue;
    expect(words).toMatch(/^[a-z0-9]+ [a-z-]+$/);
    expect(
      command.options.map(({ flags }) => flags),
      words,
    ).toContain('-o, --output <format>');
  }
});

test('every description begins with a capital letter and ends without a dot', () => {
  for (const [words, command] of leaves) {
    const texts = [command, ...command.options, ...command.registeredArguments].map((part) =>
      typeof part.description === 'function' ? part.description() : part.description,
    );
    for (const text of texts) expect(text, words).toMatch(/^[A-Z].*[^.]$/);
  }
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  for (const option of ['-v', '--version'])
    expect(await callSluice([option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('--url and --api-key win over the environment', async () => {
  const env = { SLUICE_API_URL: 'http://127.0.0.1:9', SLUICE_API_KEY: 'key' };
  const ended = await callSluice(['assets', 'list', '--url', 'nowhere', '--api-key', 'x'], { env });
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a URL') });
});

test('a usage error ends with one JSON object, whichever way JSON is requested', async () => {
  for (const format of [['-o', 'json'], ['-ojson'], ['--output=json'], ['--output', 'json']]) {
    const ended = await callSluice(['nodes', 'list', '--nothing', ...format]);
    expect(ended.code).toBe(2);
    expect(jsonOf(ended)).toMatchObject({ ok: false, error: { code: 'UsageError' } });
  }
  expect(await callSluice(['nodes', 'list', '--nothing', '--', '-o', 'json'])).toMatchObject({ stdout: '' });
});

const ROOT = new URL('../../', import.meta.url);
const TEXTS = ['README.md', 'CHANGELOG.md', '.env.example', 'docker-compose.yml', 'docs/', 'src/', 'deploy/'];
/** `sluice noun verb …` in code marks, in quotes or at the start of a line, as documents and messages name commands. */
const COMMAND = /(?:`|"|\$ |^ *|run )sluice (?:-- )?([a-z0-9]+)(?: ([a-z][a-z-]*))?([^`"\n]*)/gm;

function filesOf(path: string): readonly string[] {
  if (!path.endsWith('/')) return [path];
  const names = readdirSync(new URL(path, ROOT), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.(md|ts|mjs|ya?ml)$/.test(name)).map((name) => `${path}${name}`);
}

test('every command that a document or a message names exists, with its options', () => {
  const named = TEXTS.flatMap(filesOf).flatMap((file) =>
    [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(COMMAND)].map((match) => ({ file, match })),
  );
  expect(named.length).toBeGreaterThan(60);
  const unknown = named.filter(({ file, match: [, noun = '', verb = '', rest = ''] }) => {
    // The files of the commands name only a noun.
    if (file.startsWith('src/cli/') && verb === '') return false;
    if (DEVELOPMENT.includes(noun) || `${noun} ${verb}` === 'deposit addresses') return false;
    const found = leaves.find(([words]) => words === `${noun} ${verb}`)?.[1];
    const options = [...rest.matchAll(/ (--[a-z-]+)/g)].map(([, option = '']) => option);
    return (
      found === undefined || options.some((option) => !found.options.some(({ long }) => long === option))
    );
  });
  expect(unknown.map(({ file, match: [text] }) => `${file}: ${text}`)).toEqual([]);
});
