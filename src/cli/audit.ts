import type { Command } from '@commander-js/extra-typings';
import type { Audit, AuditDifference, AuditReport } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { apiCommand, FROM_OPTION, TO_OPTION } from './command.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { notNegative } from './numbers.ts';
import { run } from './output.ts';

const SILENT_MS = 10_000;
const STILL_WAITING =
  'sluice: the audit has not ended: the history is long, or no worker runs it; still waiting';
const CONTINUES = 'interrupted; the audit continues, and the same command finds it';

export function registerAudit(addresses: Command): void {
  apiCommand(
    addresses,
    'audit',
    "Compare an address's transactions on chain with its recorded deposits; exit code 6 if they differ",
  )
    .argument('<address>', 'Deposit address')
    .requiredOption(...FROM_OPTION, notNegative)
    .requiredOption(...TO_OPTION, notNegative)
    .option('--repair', 'Record the deposits that are missing; never removes one')
    .action((address, { from, to, repair = false, ...options }) =>
      run(options, async (output) => {
        const question = { address, from: String(from), to: String(to), repair };
        const audit = await untilInterrupted(CONTINUES, (signal) =>
          reportingTheWait(connect(options).audits.run(question, { signal })),
        );
        output.result(audit, render(audit));
        return exitOf(audit);
      }),
    );
}

/** Explains a long wait: the API does not know whether a worker is running. */
async function reportingTheWait<T>(audit: Promise<T>): Promise<T> {
  const timer = setTimeout(() => process.stderr.write(`${STILL_WAITING}\n`), SILENT_MS);
  return audit.finally(() => clearTimeout(timer));
}

function exitOf({ report }: Audit): number {
  if (report === null) return EXIT.failure;
  if (report.remaining > 0) return EXIT.differs;
  return report.unread > 0 ? EXIT.unavailable : EXIT.ok;
}

function render({ report, reason, from, to }: Audit): string {
  if (report === null) return `the audit failed: ${reason ?? 'no reason is known'}`;
  const looked = `${report.transactions} ${report.transactions === 1 ? 'transaction' : 'transactions'} in slots ${from} to ${to}`;
  const hidden =
    report.unread === 0
      ? []
      : [
          'not complete: no quorum of nodes returns all of the history, or the blocks of these slots; run it again',
        ];
  if (report.found === 0 && report.unread === 0) return `${looked}: chain and database agree`;
  if (report.found === 0)
    return [`${looked}: no differences in the part that was read`, ...hidden].join('\n');
  return [...table(report), `${looked}: ${report.found} differ, ${report.remaining} remain`, ...hidden].join(
    '\n',
  );
}

function table({ differences, found }: AuditReport): readonly string[] {
  const head = ['signature', 'slot', 'account', 'asset', 'on chain', 'recorded', ''];
  const more = found - differences.length;
  return [
    ...inColumns([head, ...differences.map(row)]),
    ...(more > 0 ? [`and ${more} more, see \`sluice alerts list\``] : []),
  ];
}

function row({ signature, slot, account, asset, chain, record, repaired }: AuditDifference) {
  return [signature, slot, account, asset, chain ?? '-', record ?? '-', repaired ? 'repaired' : 'remains'];
}
