// The words that this code base no longer uses, and what to write in their place. `npm run check` refuses them (`--check`), `npm run house`
// counts them. A word is found in prose, and in names such as `lastWitness`.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Words that may be joined by `|`, and the plain ones. */
export const DIALECT = /** @type {[words: string, instead: string][]} */ ([
  ['nobody|somebody|anybody|everybody|whoever', 'name the user, the node, the operator'],
  ['told|tells|telling|untold', 'returned, reported, answered'],
  ['heard|unheard', 'received, delivered'],
  ['on record|the record', 'recorded, in the database'],
  ['stood|stands', 'is, is at'],
  ['comes to|came to', 'results in, reaches'],
  ['goes on', 'continues'],
  ['essence', 'relevant changes'],
  ['outlook', 'progress, guidance'],
  ['sighting|sightings', 'status observation'],
  ['witness|witnesses', 'second node, confirmation'],
  ['testimony|testimonies', 'node answer'],
  ['showing|showings', 'source of a block'],
  ['doubt|doubtful|doubts', 'uncertain since a restore, unproved'],
  ['burial|bury|buried', 'expire an unsigned attempt'],
  ['crowd', 'many requests'],
  ['roster', 'node registry'],
  ['inquiry', 'hedged request'],
]);

/**
 * Lawful uses: the phrase is taken out before a text is searched. Public error codes, fields of public evidence, names of
 * activities and fields of saved histories never change; `nobody` is a system user.
 */
const LAWFUL = [
  /\bstands for\b/g,
  /\bRecordInDoubt\b/g,
  /\bburyRefused\b/g,
  /\bgoesOn\b/g,
  /\bonRecord: /g,
  /\bwitnesses:/g,
  /idOf\('nobody'\)/g,
];

/** Where text may not use them: everything but saved data. */
const SCOPE = ['src', 'devkit', 'bench', 'chaos', 'conformance', 'scripts', 'docs', 'test', '*.md'];
const TEXT = /\.(ts|mts|mjs|md)$/;
const SELF = 'scripts/dialect.mjs';

/** Titles of tests in docs are quoted as they are. @param {string} file @param {string} line */
function proseOf(file, line) {
  return file.startsWith('docs/') ? line.replace(/`[^`]*`|\[[^\]]*\]\([^)]*test\.ts\)[^|<]*/g, '') : line;
}

/** `lastWitness` and `last_witness` as `last Witness`, so that words of a name are words. @param {string} text */
const split = (text) => text.replace(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

/** @param {string} words */
const patternOf = (words) => new RegExp(`\\b(?:${words})\\b`, 'gi');

/** How often a text has these words, in prose and in names. @param {string} words @param {string} text */
export function usesOf(words, text) {
  const prose = LAWFUL.reduce((rest, phrase) => rest.replace(phrase, ''), text);
  return split(prose).match(patternOf(words))?.length ?? 0;
}

function refused() {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...SCOPE], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const files = listed
    .trim()
    .split('\n')
    .filter((file) => TEXT.test(file) && file !== SELF && existsSync(join(ROOT, file)));
  return files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, at) =>
        DIALECT.filter(([words]) => usesOf(words, proseOf(file, line)) > 0).map(
          ([words, instead]) => `${file}:${at + 1}: ${words.replaceAll('|', ', ')}: write ${instead}`,
        ),
      ),
  );
}

if (process.argv.includes('--check')) {
  const lines = refused();
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.exit(lines.length === 0 ? 0 : 1);
}
