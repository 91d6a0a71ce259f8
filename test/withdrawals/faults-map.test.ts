import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const PAGE = new URL('../../docs/faults.md', import.meta.url);
const OTHERS = '## What others got wrong';
const ROW = /^\| (?!-|fault |program )(.+) \|$/gm;
const PROOF = /\[([^\]]+)\]\(([^)]+)\) (.+)/;

/** A test that a row names: its file, as the page names and links it, and its title or the start of the title. */
interface NamedTest {
  readonly name: string;
  readonly path: string;
  readonly title: string;
}

interface FaultRow {
  /** The first cell: the fault, or the program that had it. */
  readonly subject: string;
  readonly proofs: readonly NamedTest[];
}

function rowsOf(text: string): readonly FaultRow[] {
  return [...text.matchAll(ROW)].map(([, row = '']) => {
    const cells = row.split(' | ').map((cell) => cell.trim());
    return { subject: cells[0] ?? '', proofs: (cells.at(-1) ?? '').split('<br>').map(proofOf) };
  });
}

function proofOf(cell: string): NamedTest {
  const [, name = '', path = '', title = ''] = PROOF.exec(cell) ?? [];
  return { name, path, title };
}

const page = readFileSync(PAGE, 'utf8');

it('each fault on the page of faults names an existing test by its title', () => {
  const rows = rowsOf(page);
  expect(rows.length).toBeGreaterThan(0);
  for (const { name, path, title } of rows.flatMap(({ proofs }) => proofs)) {
    // The file of a suite that several test files run has no `.test` in its name.
    expect([`../test/${name}.test.ts`, `../test/${name}.ts`], title).toContain(path);
    expect(title, path).not.toBe('');
    expect(readFileSync(new URL(path, PAGE), 'utf8').includes(title), `${name} has "${title}"`).toBe(true);
  }
});

it('each defect of another program has a test whose title names the program', () => {
  const rows = rowsOf(page.slice(page.indexOf(OTHERS)));
  expect(rows.length).toBeGreaterThan(0);
  const nameless = rows.flatMap(({ subject, proofs }) =>
    subject.split(', ').filter((name) => !proofs.some(({ title }) => title.includes(name))),
  );
  expect(nameless).toEqual([]);
});
