import type { Command } from '@commander-js/extra-typings';
import type { ScanGap, ScanOverview } from '../client/client.ts';
import { IN_PROGRESS, type ScanStatus } from '../domain/scan.ts';
import { renderProgress } from './backfills.ts';
import { apiCommand, call, REASON_OPTION, withRangeOptions, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { EXIT } from './exit.ts';

const isInProgress = ({ state }: ScanStatus): boolean => IN_PROGRESS.some((one) => one === state);

export function registerScan(program: Command): void {
  const scan = program.command('scan').description('Show, pause and resume the scan of blocks for deposits');
  apiCommand(scan, 'status', 'Show the position of the scan; exit code 5 if it is stopped').action(
    (options) =>
      call(
        options,
        (sluice) => sluice.scan.status(),
        renderScan,
        (status) => (isInProgress(status) ? EXIT.ok : EXIT.unavailable),
      ),
  );
  apiCommand(scan, 'pause', 'Stop reading blocks until `sluice scan resume`; an earlier pause stays as it is')
    .requiredOption(...REASON_OPTION)
    .action(({ reason, ...options }) => call(options, (sluice) => sluice.scan.pause(reason), renderScan));
  apiCommand(scan, 'resume', 'End a pause of the scan')
    .requiredOption(...REASON_OPTION)
    .action(({ reason, ...options }) => call(options, (sluice) => sluice.scan.resume(reason), renderScan));
  withRangeOptions(
    apiCommand(
      scan,
      'close-gap',
      'Continue the scan without the blocks of an open gap; they are read later, as soon as nodes return them',
    ),
  )
    .option(...YES_OPTION)
    .action((options) =>
      call(
        options,
        async (sluice) => {
          const { from, to, reason } = options;
          await requireConsent(
            options,
            `This continues the scan without the blocks of slots ${from} to ${to}`,
          );
          return sluice.scan.closeGap({ from, to }, reason);
        },
        renderScan,
      ),
    );
}

function renderScan(overview: ScanOverview): string {
  const { cursor, tip, lag, blocksPerSecond, at, gaps, backfills } = overview;
  const rate = blocksPerSecond === null ? '' : `  ${blocksPerSecond.toFixed(1)} blocks/s`;
  return [
    headline(overview),
    `  cursor  ${cursor === null ? 'none yet' : `slot ${cursor.slot}  ${cursor.blockhash}`}`,
    `  tip     ${tip === null ? 'not known' : `slot ${tip}  ${lag ?? '?'} slots behind${rate}${at === null ? '' : `  reported at ${at}`}`}`,
    ...gaps.filter(({ state }) => state === 'open').map(({ from, to }) => `  gap     ${from} to ${to}`),
    ...gaps.filter(({ state }) => state === 'closed').map(renderClosedGap),
    ...backfills.map((backfill) => `  backfill  ${renderProgress(backfill)}`),
  ].join('\n');
}

const STATE_TEXTS: Readonly<Partial<Record<ScanStatus['state'], string>>> = {
  tail: 'following the chain',
  'catch-up': 'reading earlier blocks, several ranges at a time',
  silent: 'no worker reports: check the chain workers, and Temporal (GET /healthz)',
  absent: 'no worker has started the scan yet: check the chain workers',
};

function headline(status: ScanStatus): string {
  if (!('reason' in status)) return [status.state, STATE_TEXTS[status.state] ?? []].flat().join(': ');
  const { state, since, reason } = status;
  if (state !== 'paused') return `${state} since ${since}: ${reason}`;
  return `${state} by ${status.actor} since ${since}: ${reason}; \`sluice scan resume --reason <text>\` ends the pause`;
}

function renderClosedGap({ from, to, actor, reason, readAt }: ScanGap): string {
  const read = readAt === null ? 'its blocks are not read yet' : `its blocks were read ${readAt}`;
  return `  closed  ${from} to ${to} by ${actor ?? '?'}: ${reason ?? '?'}; ${read}`;
}
