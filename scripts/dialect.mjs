// The words that this code base no longer uses, and what to write in their place. `npm run check` refuses them (`--check`), `npm run house`
// counts them. A word is found in prose, and in names such as `lastWitness`.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Words that may be joined by `|`, and the plain ones. Words that are also nouns or verbs of the field are not listed: member of an object,
 * place in a list, record as a verb, a call that holds a lock, a message that says why, the cursor moves, a connection is cut off.
 */
export const DIALECT = /** @type {[words: string, instead: string][]} */ ([
  ['nobody|somebody|anybody|everybody|whoever', 'name the user, the node, the operator'],
  ['tell|told|tells|telling|untold', 'returned, reported, answered'],
  ['hear|hears|hearing|heard|unheard', 'received, delivered'],
  ['word', 'note, answer, argument, u32'],
  ['node says|node said|nodes say|nodes said', 'returns, reports'],
  ['on record|the record|this record|our record', 'recorded, in the database'],
  ['stand|stands|standing|stood', 'is, is at'],
  ['comes to|came to|come to|coming to', 'results in, reaches'],
  ['goes on|go on|went on|going on|gone on', 'continues'],
  ['what is none|tell of', 'name the thing'],
  ['essence', 'relevant changes'],
  ['outlook', 'progress, guidance'],
  ['moves of|the moves|extremes', 'balance changes, minimum and maximum'],
  ['sighting|sightings', 'status observation'],
  ['witness|witnesses|witnessed', 'second node, confirmation'],
  ['testimony|testimonies', 'node answer'],
  ['showing|showings', 'source of a block'],
  ['doubt|doubtful|doubts', 'uncertain since a restore, unproved'],
  ['generation', 'epoch'],
  ['burial|bury|buries|buried', 'expire an unsigned attempt'],
  ['pace|paced|pacing', 'backpressure, interval'],
  ['traffic', 'in flight'],
  ['beat|beats|beating|rhythm', 'heartbeat, interval'],
  ['crowd|crowds|crowded', 'many requests'],
  ['roster', 'node registry'],
  ['inquiry', 'hedged request'],
  ['gate|gates', 'rate limiter, latch, checks'],
  ['held slots', 'ledger completeness'],
  ['header book', 'header quorum'],
  ['rim|rims', 'envelope'],
]);

/**
 * Lawful uses: the phrase is taken out before a text is searched. `nobody` is a system user, and the young generation is a part of V8's
 * heap. A phrase that no text has any more is refused, so that no exception outlives its reason.
 */
const LAWFUL = [/\bstands for\b/g, /\bgoesOn\b/g, /\byoung generation\b/g, /idOf\('nobody'\)/g];

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
  const texts = files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
  const unused = LAWFUL.filter((phrase) => texts.every(({ text }) => text.search(phrase) === -1));
  return [
    ...texts.flatMap(({ file, text }) => usesIn(file, text)),
    ...unused.map((phrase) => `${SELF}: no text has the lawful use ${phrase}: remove it`),
  ];
}

/** @param {string} file @param {string} text */
function usesIn(file, text) {
  return text
    .split('\n')
    .flatMap((line, at) =>
      DIALECT.filter(([words]) => usesOf(words, proseOf(file, line)) > 0).map(
        ([words, instead]) => `${file}:${at + 1}: ${words.replaceAll('|', ', ')}: write ${instead}`,
      ),
    );
}

if (process.argv.includes('--check')) {
  const lines = refused();
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.exit(lines.length === 0 ? 0 : 1);
}
