import type { Command } from '@commander-js/extra-typings';
import type { ScanGap, ScanOverview, SluiceClient } from '../client/client.ts';
import { GOING_ON, type ScanStatus } from '../domain/scan.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { registerRescans, renderOpenRescan } from './rescans.ts';
import { WHY_ARGUMENT } from './word.ts';

type Scan = SluiceClient['scan'];

const TOLD = 'the order is on record; the scan stands so:';

const WORDS = {
  pause: {
    what: 'read no more blocks until resumed',
    isSo: (paused: boolean) => paused,
    needless: 'it was paused already, and that pause stays as it was:',
    tell: (scan: Scan, why: string) => scan.pause(why),
  },
  resume: {
    what: 'end a pause',
    isSo: (paused: boolean) => !paused,
    needless: 'it was not paused; it stands so:',
    tell: (scan: Scan, why: string) => scan.resume(why),
  },
} as const;

const goesOn = ({ state }: ScanStatus): boolean => GOING_ON.some((one) => one === state);

/** `sluice scan status`, and the orders to the scan of blocks in the name of the API key. */
export function registerScan(program: Command): void {
  const scan = program.command('scan').description('the scan of blocks for deposits');
  scan
    .command('status')
    .description('how far it is, and why it stands still: exit code 5 where it does')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const status = await connect().scan.status();
        output.result(status, renderScan(status));
        return goesOn(status) ? EXIT.ok : EXIT.unavailable;
      }),
    );
  for (const [name, { what, isSo, needless, tell }] of Object.entries(WORDS)) {
    scan
      .command(name)
      .description(what)
      .argument(...WHY_ARGUMENT)
      .option(...JSON_OPTION)
      .action((why, options) =>
        sendOrder(options, async (orders) => {
          const { state } = await orders.status();
          const told = isSo(state === 'paused') ? needless : TOLD;
          return { told, status: await tell(orders, why) };
        }),
      );
  }
  scan
    .command('close-gap')
    .description('go on without the blocks of the open gap; every address is then audited over it')
    .argument('<from>', 'first slot')
    .argument('<to>', 'last slot')
    .argument(...WHY_ARGUMENT)
    .option(...JSON_OPTION)
    .action((from, to, why, options) =>
      sendOrder(options, async (orders) => ({
        told: TOLD,
        status: await orders.closeGap({ from, to }, why),
      })),
    );
  registerRescans(scan);
}

function sendOrder(
  options: { readonly json?: boolean | undefined },
  tell: (scan: Scan) => Promise<{ readonly told: string; readonly status: ScanOverview }>,
): Promise<void> {
  return run(options, async (output) => {
    const { told, status } = await tell(connect().scan);
    output.result(status, [told, renderScan(status)].join('\n'));
    return EXIT.ok;
  });
}

function renderScan(overview: ScanOverview): string {
  const { cursor, tip, lag, blocksPerSecond, at, gaps, rescans } = overview;
  const rate = blocksPerSecond === null ? '' : `  ${blocksPerSecond.toFixed(1)} blocks/s`;
  return [
    headline(overview),
    `  cursor  ${cursor === null ? 'none yet' : `slot ${cursor.slot}  ${cursor.blockhash}`}`,
    `  tip     ${tip === null ? 'not known' : `slot ${tip}  ${lag ?? '?'} slots behind${rate}${at === null ? '' : `  told at ${at}`}`}`,
    ...gaps.filter(({ state }) => state === 'open').map(({ from, to }) => `  gap     ${from} to ${to}`),
    ...gaps.filter(({ state }) => state === 'closed').map(renderClosed),
    ...rescans.map((rescan) => `  rescan  ${renderOpenRescan(rescan)}`),
  ].join('\n');
}

/** What no worker says itself. */
const IN_WORDS: Readonly<Partial<Record<ScanStatus['state'], string>>> = {
  tail: 'following the chain',
  'catch-up': 'reading what is old, by ranges',
  silent: 'no worker tells how it stands: look at the chain workers, and at Temporal (GET /healthz)',
  absent: 'no worker has started it yet: look at the chain workers',
};

function headline(status: ScanStatus): string {
  if (!('why' in status)) return [status.state, IN_WORDS[status.state] ?? []].flat().join(': ');
  const { state, since, why } = status;
  if (state !== 'paused') return `${state} since ${since}: ${why}`;
  return `${state} by ${status.who} since ${since}: ${why}; \`sluice scan resume <why>\` ends it`;
}

function renderClosed(gap: ScanGap): string {
  const { from, to, who, why } = gap;
  return `  closed  ${from} to ${to} by ${who ?? '?'}: ${why ?? '?'}; ${auditOf(gap)}`;
}

function auditOf({ auditedAt, unshownSince }: ScanGap): string {
  if (auditedAt !== null) return `audited ${auditedAt}`;
  if (unshownSince === null) return 'its audit goes on';
  return `audited, and not settled: no quorum of nodes has shown blocks of these slots (asked since ${unshownSince}); add nodes that have them`;
}
