import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findingOf } from '../src/domain/credits.ts';
import { isDomainError } from '../src/domain/errors.ts';
import { CLAIMS, EARLY, SAME } from './claims.ts';
import { ALL_WALLETS, differencesFrom } from './differences.ts';
import { filledIn } from './early.ts';
import { factsOfFiles, type RecordForm } from './facts.ts';
import { answersIn, type Reading, readRecorded } from './recorded.ts';
import { type ScanCheck, scanRecorded } from './scan.ts';

/** What was read in one file; `refused` holds the reason where it is one that must be, and then nothing was read. */
export interface FileReport {
  readonly file: string;
  readonly refused: string | null;
  readonly transactions: number;
  readonly failed: number;
  /** How many transactions of each version. */
  readonly versions: Readonly<Record<string, number>>;
  /** Movements found when every wallet is watched. */
  readonly nativeDeltas: number;
  readonly tokenDeltas: number;
  /** Null for a file of transactions. */
  readonly scan: Omit<ScanCheck, 'differences'> | null;
  readonly differences: readonly string[];
}

export interface ConformanceReport {
  readonly ok: boolean;
  readonly files: readonly FileReport[];
  readonly transactions: number;
  readonly differences: number;
}

/** Reads every recorded block and transaction of a folder as the scan does, and compares that with the folder's `facts.json`. */
export async function checkRecorded(directory: string): Promise<ConformanceReport> {
  const known = factsOfFiles.parse(JSON.parse(await readFile(join(directory, 'facts.json'), 'utf8')));
  const readings = new Map<string, Reading>();
  const files: FileReport[] = [];
  for (const { name, form, facts } of known) {
    if (facts === null) {
      files.push(await refusalOf(directory, name, form));
      continue;
    }
    try {
      const answers = await answersIn(directory, name, form);
      const early = EARLY.includes(name);
      const reading = readRecorded(name, early ? answers.map(filledIn) : answers);
      readings.set(name, reading);
      const [bytes] = answers;
      const readable = !early && facts.encoding !== 'base64';
      const scan = bytes === undefined ? null : scanOf(bytes, reading, readable);
      const differences = [
        ...differencesFrom(facts, reading),
        ...brokenClaims(name, reading),
        ...(early ? needlesslyEarly(name, answers) : []),
      ];
      files.push(reportOf(name, reading, scan, differences));
    } catch (error) {
      files.push({ ...EMPTY, file: name, differences: [`not read: ${sentenceOf(error)}`] });
    }
  }
  const unknown = await unknownFiles(
    directory,
    known.map(({ name }) => name),
  );
  return summary([...files, ...unknown].map((file) => withPeers(file, readings)));
}

const EMPTY = {
  refused: null,
  transactions: 0,
  failed: 0,
  versions: {},
  nativeDeltas: 0,
  tokenDeltas: 0,
  scan: null,
  differences: [],
} as const;

function reportOf(
  file: string,
  reading: Reading,
  scan: ScanCheck | null,
  differences: readonly string[],
): FileReport {
  const { transactions } = reading;
  const { inflows, outflows } = findingOf(reading, ALL_WALLETS);
  const native = [...inflows, ...outflows].filter(({ asset }) => asset === 'SOL').length;
  const versions: Record<string, number> = {};
  for (const { version } of transactions) versions[version] = (versions[version] ?? 0) + 1;
  return {
    file,
    refused: null,
    transactions: transactions.length,
    failed: transactions.filter(({ error }) => error !== null).length,
    versions,
    nativeDeltas: native,
    tokenDeltas: inflows.length + outflows.length - native,
    scan: scan === null ? null : { watched: scan.watched, parsed: scan.parsed },
    differences: [...differences, ...(scan?.differences ?? [])],
  };
}

function scanOf(bytes: Buffer, { header, transactions }: Reading, readable: boolean): ScanCheck | null {
  return header === null ? null : scanRecorded(bytes, { header, transactions }, readable);
}

/** What is filled in hides what a node leaves out, so that only files that need it may have it. */
function needlesslyEarly(name: string, answers: readonly Buffer[]): readonly string[] {
  try {
    readRecorded(name, answers);
    return ['is read as strictly as the scan reads, and is listed as early'];
  } catch (error) {
    if (isDomainError(error, 'NodeFault')) return [];
    throw error;
  }
}

async function refusalOf(directory: string, file: string, form: RecordForm): Promise<FileReport> {
  try {
    readRecorded(file, await answersIn(directory, file, form));
  } catch (error) {
    if (isDomainError(error, 'NodeFault')) return { ...EMPTY, file, refused: error.message };
    return { ...EMPTY, file, differences: [`refused for another reason: ${sentenceOf(error)}`] };
  }
  return { ...EMPTY, file, differences: ['was read, and holds no transactions that could be'] };
}

function brokenClaims(name: string, { transactions }: Reading): readonly string[] {
  return CLAIMS.filter(({ file }) => file === name).flatMap(({ claim, holds }) =>
    transactions.every(holds) && transactions.length > 0 ? [] : [`does not show that ${claim}`],
  );
}

/** Adds what differs from the same transactions in another encoding. */
function withPeers(report: FileReport, readings: ReadonlyMap<string, Reading>): FileReport {
  const [first, ...others] = SAME.find((group) => group.includes(report.file)) ?? [];
  if (first === undefined || !others.includes(report.file)) return report;
  const [one, other] = [readings.get(first), readings.get(report.file)];
  if (one !== undefined && other !== undefined && isDeepStrictEqual(one, other)) return report;
  return { ...report, differences: [...report.differences, `is not read as ${first} is`] };
}

/** A file that no facts are known of was not checked. */
async function unknownFiles(directory: string, known: readonly string[]): Promise<readonly FileReport[]> {
  const folders = ['blocks', 'transactions'];
  const names = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(directory, folder))).map((name) => `${folder}/${name}`),
    ),
  );
  return names
    .flat()
    .filter((name) => !known.includes(name))
    .map((file) => ({ ...EMPTY, file, differences: ['is not in facts.json'] }));
}

function summary(files: readonly FileReport[]): ConformanceReport {
  const differences = files.reduce((sum, file) => sum + file.differences.length, 0);
  const transactions = files.reduce((sum, file) => sum + file.transactions, 0);
  return { ok: differences === 0 && files.length > 0, files, transactions, differences };
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
