// `npm run house`: how easily a stranger finds the way, in numbers. `-- --json` prints one JSON object. scripts/walks.json has the files of
// three walks in the order in which a reader follows them.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DIALECT, usesOf } from './dialect.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SMALL_LINES = 45;
const FULL_FOLDER = 40;
const IMPORT = /(?:from |import |import\()'(\.[^']+)'/g;
const TYPE = /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm;
const listed = execFileSync('git', ['ls-files', 'src', 'devkit'], { cwd: ROOT, encoding: 'utf8' });
const sources = new Map(
  listed
    .trim()
    .split('\n')
    .filter((file) => /\.(ts|mts|mjs)$/.test(file) && existsSync(join(ROOT, file)))
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
);
/** @param {string} file */
const linesOf = (file) => (sources.get(file) ?? '').split('\n').length - 1;
/** `src/ledger`, and `src` for the roots. @param {string} file */
const roomOf = (file) => file.split('/').slice(0, -1).slice(0, 2).join('/');

/** @param {Iterable<string>} keys @returns {Record<string, number>} */
function tally(keys) {
  const counts = /** @type {Record<string, number>} */ ({});
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

/** The files that import each file. */
function importers() {
  const found = new Map([...sources.keys()].map((file) => [file, /** @type {string[]} */ ([])]));
  for (const [file, text] of sources)
    for (const path of new Set(Array.from(text.matchAll(IMPORT), ([, path = '']) => path)))
      found.get(posix.join(dirname(file), path))?.push(file);
  return found;
}

function oneImporter() {
  const alone = [...importers()].flatMap(([file, [by, ...others]]) =>
    by === undefined || others.length > 0 ? [] : [{ file, by }],
  );
  const small = alone.filter(({ file, by }) => dirname(file) === dirname(by) && linesOf(file) <= SMALL_LINES);
  return { all: alone.length, smallInTheSameFolder: small.map(({ file }) => file) };
}

/** @param {string[]} files */
function walk(files) {
  const rooms = files.map(roomOf);
  const entered = rooms.filter((room, at) => room !== rooms[at - 1]);
  const distinct = [...new Set(files)];
  return {
    steps: files.length,
    files: distinct.length,
    lines: distinct.reduce((sum, file) => sum + linesOf(file), 0),
    roomChanges: entered.length - 1,
    returns: entered.length - new Set(entered).size,
    missing: distinct.filter((file) => !sources.has(file)),
  };
}

function typeNames() {
  const declared = [...sources.values()].flatMap((text) => [
    ...new Set(Array.from(text.matchAll(TYPE), ([, name = '']) => name)),
  ]);
  const several = Object.entries(tally(declared)).filter(([, meanings]) => meanings > 1);
  return Object.fromEntries(several.sort(([, a], [, b]) => b - a));
}

/** @param {string} words */
const uses = (words) => [...sources.values()].reduce((sum, text) => sum + usesOf(words, text), 0);

function rooms() {
  const lines = /** @type {Record<string, { files: number, lines: number }>} */ ({});
  for (const file of sources.keys()) {
    const room = (lines[roomOf(file)] ??= { files: 0, lines: 0 });
    room.files += 1;
    room.lines += linesOf(file);
  }
  return lines;
}

/** @param {string} base */
const linesBelow = (base) =>
  [...sources.keys()].filter((file) => file.startsWith(base)).reduce((sum, file) => sum + linesOf(file), 0);

const walks = /** @type {Record<string, string[]>} */ (
  JSON.parse(readFileSync(join(ROOT, 'scripts', 'walks.json'), 'utf8'))
);
const house = {
  lines: { product: linesBelow('src/'), devkit: linesBelow('devkit/') },
  walks: Object.fromEntries(Object.entries(walks).map(([name, files]) => [name, walk(files)])),
  oneImporter: oneImporter(),
  typeNames: typeNames(),
  dialect: Object.fromEntries(DIALECT.map(([words]) => [words, uses(words)])),
  rooms: rooms(),
  folders: tally([...sources.keys()].map(dirname)),
};

/** @param {string} title @param {(string | number)[][]} rows */
function table(title, rows) {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => String(row[at]).length)));
  const cell = (/** @type {string | number} */ value, /** @type {number} */ at) =>
    typeof value === 'number' ? String(value).padStart(widths[at] ?? 0) : value.padEnd(widths[at] ?? 0);
  return `${title}\n${rows.map((row) => `  ${row.map(cell).join('  ').trimEnd()}`).join('\n')}\n`;
}

function report() {
  const { oneImporter: alone, typeNames: types, folders } = house;
  const meanings = Object.entries(types);
  const many = meanings.filter(([, count]) => count > 2);
  return [
    table('lines', Object.entries(house.lines)),
    table('walks', [
      ['', 'steps', 'files', 'lines', 'room changes', 'returns', 'missing'],
      ...Object.entries(house.walks).map(([name, { steps, files, lines, roomChanges, returns, missing }]) => [
        name,
        ...[steps, files, lines, roomChanges, returns, missing.length].map(String),
      ]),
    ]),
    table('files with one importer', [
      ['all', alone.all],
      [`in its folder and of ${SMALL_LINES} lines or fewer`, alone.smallInTheSameFolder.length],
    ]),
    table(`type names: ${meanings.length} with several meanings, ${many.length} with three or more`, many),
    table('words of the old dialect', Object.entries(house.dialect)),
    table(
      'rooms',
      Object.entries(house.rooms).map(([room, { files, lines }]) => [room, files, lines]),
    ),
    table(
      `folders: ${Object.values(folders).filter((files) => files > FULL_FOLDER).length} of more than ${FULL_FOLDER} files`,
      Object.entries(folders),
    ),
  ].join('\n');
}

process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(house, null, 2)}\n` : report());
