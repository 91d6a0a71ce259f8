import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const PAGE = new URL('../../docs/faults.md', import.meta.url);
const ROW = /^\| (?!-|fault |who )/;
const PROOF = /\[([^\]]+)\]\(([^)]+)\) (.+)/;

/** The tests that a row names: its last cell. */
function proofsOf(row: string): readonly string[] {
  return (row.split(' | ').at(-1) ?? '').replace(/ \|$/, '').split('<br>');
}

it('each fault on the page of faults has a test that is there under that title', () => {
  const rows = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => ROW.test(line));
  expect(rows.length).toBeGreaterThan(0);
  for (const proof of rows.flatMap(proofsOf)) {
    const [, name, path = '', title = ''] = PROOF.exec(proof) ?? [];
    expect(path, proof).toBe(`../test/${name}.test.ts`);
    expect(readFileSync(new URL(path, PAGE), 'utf8').includes(title.trim()), `${name} has "${title}"`).toBe(
      true,
    );
  }
});
