import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { ListPage, SluiceClient } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { type Connection, connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { parsePositive } from './numbers.ts';
import { type Output, type OutputOptions, run } from './output.ts';

export const REASON_OPTION = ['--reason <text>', 'Reason for this action, stored in the database'] as const;
export const YES_OPTION = ['--yes', 'Skip the confirmation prompt'] as const;
export const ASSET_OPTION = ['--asset <asset>', 'SOL, or the address of a mint'] as const;

const MAX_PAGE_SIZE = 200;

export function localCommand(parent: Command, name: string, description: string) {
  return parent
    .command(name)
    .description(description)
    .addOption(
      new Option('-o, --output <format>', 'Output format')
        .choices(['table', 'json'] as const)
        .default('table' as const)
        .helpGroup('Output:'),
    );
}

export function apiCommand(parent: Command, name: string, description: string) {
  return localCommand(parent, name, description)
    .addOption(new Option('--url <url>', 'URL of the API (default: SLUICE_API_URL)').helpGroup('Connection:'))
    .addOption(new Option('--api-key <key>', 'API key (default: SLUICE_API_KEY)').helpGroup('Connection:'));
}

export type ApiOptions = OutputOptions & Connection;

/** Prints the result of `work`, as JSON or rendered. `exitOf` returns the exit code. */
export function print<Answer extends object>(
  options: OutputOptions,
  work: (output: Output) => Promise<Answer>,
  render: (answer: Answer) => string,
  exitOf: (answer: Answer) => number = () => EXIT.ok,
): Promise<void> {
  return run(options, async (output) => {
    const answer = await work(output);
    output.result(answer, render(answer));
    return exitOf(answer);
  });
}

/** {@link print} for a call of the API. */
export function call<Answer extends object>(
  options: ApiOptions,
  ask: (sluice: SluiceClient) => Promise<Answer>,
  render: (answer: Answer) => string,
  exitOf?: (answer: Answer) => number,
): Promise<void> {
  return print(options, () => ask(connect(options)), render, exitOf);
}

export type Columns<Entry> = Readonly<Record<string, (entry: Entry) => string>>;

export function table<Entry>(name: string, columns: Columns<Entry>, entries: readonly Entry[]): string {
  if (entries.length === 0) return `no ${name} found`;
  const cells = Object.values(columns);
  const rows = entries.map((entry) => cells.map((cell) => cell(entry)));
  return inColumns([Object.keys(columns), ...rows]).join('\n');
}

/** Prints one entry as a table of one row, with the columns of its list. */
export function show<Entry extends object>(
  options: ApiOptions,
  name: string,
  columns: Columns<Entry>,
  ask: (sluice: SluiceClient) => Promise<Entry>,
): Promise<void> {
  return call(options, ask, (entry) => table(name, columns, [entry]));
}

/** Adds the options of a command about a range of slots. */
export function withRangeOptions<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .requiredOption('--from <slot>', 'First slot')
    .requiredOption('--to <slot>', 'Last slot')
    .requiredOption(...REASON_OPTION);
}

/** Adds the options of {@link list}, which the help prints after the options of the filter. */
export function withPageOptions<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .option('--limit <count>', 'Maximum number of rows', parsePositive, 50)
    .option('--cursor <cursor>', 'Continue after the page that ended with this cursor');
}

/** Prints up to `limit` entries of a list, from as many pages as needed, and the cursor at which it continues. */
export function list<Name extends string, Entry>(
  options: ApiOptions & { readonly limit: number; readonly cursor?: string | undefined },
  name: Name,
  columns: Columns<Entry>,
  fetchPage: (
    sluice: SluiceClient,
    page: { readonly limit: number; readonly cursor: string | null },
  ) => Promise<ListPage<Name, Entry>>,
): Promise<void> {
  const fetchRows = async (sluice: SluiceClient) => {
    const entries: Entry[] = [];
    let nextCursor = options.cursor ?? null;
    do {
      const limit = Math.min(options.limit - entries.length, MAX_PAGE_SIZE);
      const page = await fetchPage(sluice, { limit, cursor: nextCursor });
      entries.push(...page[name]);
      nextCursor = page.nextCursor;
    } while (nextCursor !== null && entries.length < options.limit);
    return { [name]: entries, nextCursor } as ListPage<Name, Entry>;
  };
  return call(options, fetchRows, ({ [name]: entries, nextCursor }) => {
    const more = nextCursor === null ? '' : `\nMore rows: add --cursor ${nextCursor}, or raise --limit`;
    return `${table(name, columns, entries)}${more}`;
  });
}
