import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect, test } from 'vitest';
import { sluiceProgram } from '../../src/cli/sluice.ts';
import { callSluice } from '../support/call-sluice.ts';

/** Every command that can be run, with the words that name it. */
function leavesOf(
  command: CommandUnknownOpts,
  words: string,
): readonly (readonly [string, CommandUnknownOpts])[] {
  if (command.commands.length === 0) return [[words, command]];
  return command.commands.flatMap((child) => leavesOf(child, `${words} ${child.name()}`.trim()));
}

const DEVELOPMENT = ['dev', 'demo'];
const leaves = leavesOf(sluiceProgram(), '');

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
