import { type Command, Option } from '@commander-js/extra-typings';
import type { Deposit, DepositEvent, DepositFilter, FollowOptions } from '../client/client.ts';
import { DEPOSIT_STATES } from '../domain/deposit.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { notNegative, positive } from './numbers.ts';
import { JSON_OPTION, type Output, run } from './output.ts';
import { goesOn, type Part, partOf } from './part.ts';
import { WHY_ARGUMENT } from './word.ts';

const DEFAULT_LIMIT = 50;

/**
 * `sluice deposits`: what users have paid; with `--follow`, everything that becomes of it, as it is committed. `reject` below it ends what
 * a node made up.
 */
export function registerDeposits(program: Command): void {
  const deposits = program
    .command('deposits')
    .description('list deposits, newest first; with --follow the feed of what becomes of them, for ever')
    .option('--address <wallet>', 'only those to this wallet')
    .option('--user <ref>', 'only those of this user')
    .addOption(new Option('--state <state>', 'only those in this state').choices(DEPOSIT_STATES))
    .option('--asset <asset>', 'only those of SOL or of this mint')
    .option('--limit <count>', `list at most so many (default: ${DEFAULT_LIMIT})`, positive)
    .option('--cursor <cursor>', 'go on behind a list before: its `nextCursor`')
    .option('--follow', 'the feed from its beginning, or from --after')
    .option('--after <sequence>', 'with --follow: only what comes after this event', notNegative)
    .option('--json', 'one JSON object on stdout; with --follow one a line')
    .action((options) =>
      run(options, (output) => {
        const filter = filterOf(options);
        if (options.follow !== true) {
          if (options.after !== undefined) throw new UsageError('--after is for the feed: add --follow');
          return list(filter, { ...options, limit: options.limit ?? DEFAULT_LIMIT }, output);
        }
        if (options.limit !== undefined) throw new UsageError('--limit is for the list: the feed has no end');
        if (options.cursor !== undefined)
          throw new UsageError('--cursor is for the list: the feed goes on with --after');
        const after = options.after === undefined ? {} : { after: String(options.after) };
        if (options.json !== true) output.progress(inFeed('event', 'told at', HEADINGS));
        return follow({ ...filter, ...after }, output);
      }),
    );
  deposits
    .command('reject')
    .description('drop a pending deposit that a quorum of nodes denies now')
    .argument('<id>')
    .argument(...WHY_ARGUMENT)
    .option(...JSON_OPTION)
    .action((id, why, _options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const deposit = await connect().deposits.reject(id, why);
        output.result(deposit, cellsOf(deposit).join('  '));
        return EXIT.ok;
      }),
    );
}

interface Chosen {
  readonly address?: string | undefined;
  readonly user?: string | undefined;
  readonly state?: NonNullable<DepositFilter['state']> | undefined;
  readonly asset?: string | undefined;
}

function filterOf({ address, user, state, asset }: Chosen): DepositFilter {
  return {
    ...(address === undefined ? {} : { address }),
    ...(user === undefined ? {} : { userRef: user }),
    ...(state === undefined ? {} : { state }),
    ...(asset === undefined ? {} : { asset }),
  };
}

async function list(filter: DepositFilter, part: Part, output: Output): Promise<number> {
  const sluice = connect();
  const { entries: deposits, nextCursor } = await partOf(part, async (page) => {
    const { deposits: entries, nextCursor: next } = await sluice.deposits.page(filter, page);
    return { entries, nextCursor: next };
  });
  output.result({ deposits, nextCursor }, renderTable(deposits, nextCursor, filter));
  return EXIT.ok;
}

async function follow(options: FollowOptions, output: Output): Promise<number> {
  return untilInterrupted('interrupted', async (signal) => {
    const events = connect().deposits.events({
      ...options,
      signal,
      onSilence: ({ message }) => process.stderr.write(`${message}; asking on\n`),
    });
    for await (const event of events) output.result(event, renderEvent(event));
    return EXIT.ok;
  });
}

function renderEvent({ sequence, at, deposit }: DepositEvent): string {
  return inFeed(sequence, at, cellsOf(deposit));
}

/** Of what is listed as it comes no column is known whole: these are as wide as most cells are. */
const WIDTHS = [6, 24, 9, 24, 12, 12, 44, 44];

function inFeed(sequence: string, at: string, cells: readonly string[]): string {
  return [sequence, at, ...cells].map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0)).join('  ');
}

const HEADINGS = ['slot', 'block time', 'state', 'base units', 'asset', 'to', 'id', 'signature'] as const;

function renderTable(deposits: readonly Deposit[], nextCursor: string | null, filter: DepositFilter): string {
  if (deposits.length === 0)
    return Object.keys(filter).length === 0 ? 'no deposits yet' : 'no deposit matches';
  return [...inColumns([HEADINGS, ...deposits.map(cellsOf)]), ...goesOn(nextCursor)].join('\n');
}

/** A deposit under {@link HEADINGS}; the id is that of `deposits reject`. */
function cellsOf(deposit: Deposit): readonly string[] {
  const { id, slot, blockTime, state, reason, amount, asset, wallet, userRef, signature } = deposit;
  const why = reason === null ? state : `${state} (${reason})`;
  return [slot, blockTime ?? 'not known', why, amount, asset, userRef ?? wallet, id, signature];
}
