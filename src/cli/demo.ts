import type { Command } from '@commander-js/extra-typings';
import { renderTable } from './demo/table.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';

/** `sluice demo`: real withdrawals on a chain of its own, one of them across a killed worker; then stops everything. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'run withdrawals on a development chain, kill a worker in the middle, count the transfers on chain',
    )
    .option('--json', 'progress to stderr, one JSON object as the last line of stdout')
    .action((options) =>
      run(options.json ?? false, async (output) => {
        // Loaded here, so that the other commands start without the whole stack.
        const [{ startStack }, { runScenario }] = await Promise.all([
          import('../localstack/stack.ts'),
          import('./demo/scenario.ts'),
        ]);
        output.progress(
          'starting Temporal, PostgreSQL, a Solana chain with two nodes, signer, worker and API …',
        );
        const stack = await startStack({
          stateDir: '.sluice/demo',
          say: (line) => output.progress(`  ${line}`),
        });
        try {
          output.progress(`  watch it in the Temporal Web UI: ${stack.temporal.uiUrl}`);
          const report = await runScenario(stack, (line) => output.progress(line));
          const { rows, ...summary } = report;
          output.progress(`\n${renderTable(rows)}\n`);
          output.result({ ...summary, temporalUi: stack.temporal.uiUrl }, summarize(report.withdrawals));
          return report.ok ? EXIT.ok : EXIT.failure;
        } finally {
          await stack.close();
        }
      }),
    );
}

function summarize(counts: { requested: number; finalized: number; transfersOnChain: number }): string {
  const { requested, finalized, transfersOnChain } = counts;
  return `${requested} withdrawals asked for, ${finalized} finalized, ${transfersOnChain} transfers counted in the blocks`;
}
