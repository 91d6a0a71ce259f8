import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { ListPage, SluiceClient } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { type Connection, connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { positive } from './numbers.ts';
import { type Output, type OutputOptions, run } from './output.ts';

export const REASON_OPTION = ['--reason <text>', 'Reason, stored with the order'] as const;
export const YES_OPTION = ['--yes', 'Confirm without being asked'] as const;
export const ASSET_OPTION = ['--asset <asset>', 'SOL, or the address of a mint'] as const;

const LARGEST_PAGE = 200;

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

/** Prints the answer of `work`, as JSON or rendered. */
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

/** Prints the answer of the API. */
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

/** Adds the options of an order for a range of slots. */
export function ranged<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .requiredOption('--from <slot>', 'First slot')
    .requiredOption('--to <slot>', 'Last slot')
    .requiredOption(...REASON_OPTION);
}

/** Adds the options of {@link list}, after those of its filter. */
export function paged<Args extends unknown[], Options extends OptionValues>(command: Command<Args, Options>) {
  return command
    .option('--limit <count>', 'Maximum number of rows', positive, 50)
    .option('--cursor <cursor>', 'Continue a list from its `nextCursor`');
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
      const limit = Math.min(options.limit - entries.length, LARGEST_PAGE);
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
