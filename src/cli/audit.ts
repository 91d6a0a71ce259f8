import type { Command } from '@commander-js/extra-typings';
import type { Audit, AuditDifference, AuditReport } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { notNegative } from './numbers.ts';
import { JSON_OPTION, run } from './output.ts';

const SILENT_MS = 10_000;
const STILL_WAITING =
  'sluice: the audit is not done yet: it reads a long history, or no worker is there to do it; still waiting';
const GOES_ON = 'interrupted; the audit goes on, and the same command finds it';

/** `sluice audit`: all that came to one address by the word of the nodes' histories, against the record. */
export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('hold what nodes list for an address against the record: exit code 6 where they differ')
    .argument('<address>')
    .requiredOption('--from <slot>', 'first slot', notNegative)
    .requiredOption('--to <slot>', 'last slot, which the scan has passed', notNegative)
    .option('--repair', 'put on record what is missing there; nothing is ever taken back')
    .option(...JSON_OPTION)
    .action((address, { from, to, repair = false, json }) =>
      run({ json }, async (output) => {
        const question = { address, from: String(from), to: String(to), repair };
        const audit = await untilInterrupted(GOES_ON, (signal) =>
          sayingThatItWaits(connect().audits.run(question, { signal })),
        );
        output.result(audit, render(audit));
        return exitOf(audit);
      }),
    );
}

/** A long history takes its time, and no API knows whether a worker lives: whoever waits hears what it can be. */
async function sayingThatItWaits<T>(audit: Promise<T>): Promise<T> {
  const timer = setTimeout(() => process.stderr.write(`${STILL_WAITING}\n`), SILENT_MS);
  return audit.finally(() => clearTimeout(timer));
}

function exitOf({ report }: Audit): number {
  if (report === null) return EXIT.failure;
  if (report.remaining > 0) return EXIT.differs;
  return report.unread > 0 ? EXIT.unavailable : EXIT.ok;
}

function render({ report, why, from, to }: Audit): string {
  if (report === null) return `the audit failed: ${why ?? 'nobody says why'}`;
  const looked = `${report.transactions} ${report.transactions === 1 ? 'transaction' : 'transactions'} in slots ${from} to ${to}`;
  const hidden =
    report.unread === 0
      ? []
      : [
          'not done: no quorum of nodes shows now all of the history, or the blocks of these slots; ask again',
        ];
  if (report.found === 0 && report.unread === 0) return `${looked}: chain and record agree`;
  if (report.found === 0) return [`${looked}: nothing differs in what was seen`, ...hidden].join('\n');
  return [...table(report), `${looked}: ${report.found} differ, ${report.remaining} remain`, ...hidden].join(
    '\n',
  );
}

function table({ differences, found }: AuditReport): readonly string[] {
  const head = ['signature', 'slot', 'account', 'asset', 'on chain', 'on record', ''];
  const more = found - differences.length;
  return [
    ...inColumns([head, ...differences.map(row)]),
    ...(more > 0 ? [`and ${more} more, which the alerts name`] : []),
  ];
}

function row({ signature, slot, account, asset, chain, record, repaired }: AuditDifference) {
  return [signature, slot, account, asset, chain ?? '-', record ?? '-', repaired ? 'repaired' : 'remains'];
}
