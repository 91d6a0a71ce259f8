import type { Command } from '@commander-js/extra-typings';
import type { ScanGap, ScanStatus, SluiceClient } from '../client/client.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';

type Scan = SluiceClient['scan'];

const WORDS = {
  pause: { what: 'read no more blocks until resumed', tell: (scan: Scan, why: string) => scan.pause(why) },
  resume: { what: 'end a pause', tell: (scan: Scan, why: string) => scan.resume(why) },
} as const;

const RANGES = {
  rescan: {
    what: 'read committed blocks again; what was missed is added, nothing is taken back',
    tell: (scan: Scan, from: string, to: string, why: string) => scan.rescan({ from, to }, why),
  },
  'close-gap': {
    what: 'go on without the blocks of the open gap; every address is then audited over it',
    tell: (scan: Scan, from: string, to: string, why: string) => scan.closeGap({ from, to }, why),
  },
} as const;

const GOING_ON: ReadonlySet<ScanStatus['state']> = new Set(['starting', 'tail', 'catch-up']);

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
        return GOING_ON.has(status.state) ? EXIT.ok : EXIT.unavailable;
      }),
    );
  for (const [name, { what, tell }] of Object.entries(WORDS)) {
    scan
      .command(name)
      .description(what)
      .argument('<why>', 'for whoever asks later')
      .option(...JSON_OPTION)
      .action((why, options) => told(options, (orders) => tell(orders, why)));
  }
  for (const [name, { what, tell }] of Object.entries(RANGES)) {
    scan
      .command(name)
      .description(what)
      .argument('<from>', 'first slot')
      .argument('<to>', 'last slot')
      .argument('<why>', 'for whoever asks later')
      .option(...JSON_OPTION)
      .action((from, to, why, options) => told(options, (orders) => tell(orders, from, to, why)));
  }
}

function told(
  options: { readonly json?: boolean | undefined },
  tell: (scan: Scan) => Promise<ScanStatus>,
): Promise<void> {
  return run(options, async (output) => {
    const status = await tell(connect().scan);
    output.result(status, ['told; it stood so:', renderScan(status)].join('\n'));
    return EXIT.ok;
  });
}

function renderScan({ state, cursor, tip, lag, blocksPerSecond, gap, why, gaps }: ScanStatus): string {
  const rate = blocksPerSecond === null ? '' : `  ${blocksPerSecond.toFixed(1)} blocks/s`;
  return [
    `${state}${why === null ? '' : `: ${why}`}`,
    `  cursor  ${cursor === null ? 'none yet' : `slot ${cursor.slot}  ${cursor.blockhash}`}`,
    `  tip     ${tip === null ? 'not known' : `slot ${tip}  ${lag ?? '?'} behind${rate}`}`,
    ...(gap === null ? [] : [`  gap     ${gap.from} to ${gap.to}`]),
    ...gaps.filter((one) => one.state === 'closed').map(renderClosed),
  ].join('\n');
}

function renderClosed({ from, to, who, why, auditedAt }: ScanGap): string {
  const audit = auditedAt === null ? 'its audit goes on' : `audited ${auditedAt}`;
  return `  closed  ${from} to ${to} by ${who ?? '?'}: ${why ?? '?'}; ${audit}`;
}
