import { expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit.ts';
import { ERROR_KINDS } from '../../src/domain/errors.ts';
import { SETTINGS } from '../../src/platform/settings.ts';
import { textOf } from './pages.ts';

const page = textOf('docs/reference.md');

/** The first cells of the table below a heading, without backticks. */
function rowsBelow(heading: string): readonly string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const cells = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell.trim());
  return cells.filter((cell) => cell.startsWith('`')).map((cell) => cell.replaceAll('`', ''));
}

it('the reference names exactly the existing settings', () => {
  const names = Object.values(SETTINGS).map(({ name }) => name);
  expect(rowsBelow('Settings').toSorted()).toEqual(names.toSorted());
});

it('.env.example names every setting', () => {
  const example = textOf('.env.example');
  const missing = Object.values(SETTINGS).filter(({ name }) => !example.includes(`${name}=`));
  expect(missing).toEqual([]);
});

it('the reference has the default of each setting', () => {
  const cellOf = (name: string) => new RegExp(`^\\| \`${name}\` *\\| ([^|]*?) *\\|`, 'm').exec(page)?.[1];
  for (const { name, schema } of Object.values(SETTINGS)) {
    const { data } = schema.safeParse(undefined);
    if (data !== undefined && typeof data !== 'object') expect(cellOf(name), name).toBe(`\`${data}\``);
  }
});

it('the reference has each error code with its status, whether a retry can help, and its title', () => {
  expect(rowsBelow('Errors')).toEqual(Object.keys(ERROR_KINDS));
  const rows = page.split('\n').map((line) => line.replace(/ +/g, ' '));
  for (const [code, { status, retryable, title }] of Object.entries(ERROR_KINDS))
    expect(rows).toContain(`| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${title} |`);
});

it('the reference has each exit code', () => {
  expect(rowsBelow('Exit codes')).toEqual(Object.values(EXIT).map(String));
});
