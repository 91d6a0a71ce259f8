import type { Command } from '@commander-js/extra-typings';
import { SluiceClient } from '../client/client.ts';
import { shutdownSignal } from '../platform/shutdown.ts';
import type { DemoReport } from './demo/report.ts';
import { renderTable } from './demo/table.ts';
import { EXIT, Interrupted } from './exit.ts';
import { JSON_AND_PROGRESS_OPTION, type Output, run } from './output.ts';

/** `sluice demo`: real withdrawals on a chain of its own, one of them across a killed worker; then stops everything. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'run withdrawals on a development chain, kill a worker in the middle, count the transfers on chain',
    )
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) => run(options, demonstrate));
}

async function demonstrate(output: Output): Promise<number> {
  // Loaded here, so that the other commands start without the whole stack.
  const [{ startStack }, { withdrawalsInUi }, { runScenario }] = await Promise.all([
    import('../localstack/stack.ts'),
    import('../localstack/temporal.ts'),
    import('./demo/scenario.ts'),
  ]);
  const say = (line: string): void => output.progress(line);
  const { signal } = shutdownSignal();
  signal.addEventListener('abort', () => say('stopping'));
  say('starting Temporal, PostgreSQL, a Solana chain with two nodes, signer, worker and API …');
  const stack = await startStack({ stateDir: '.sluice/demo', say: (line) => say(`  ${line}`) });
  try {
    const { uiNote } = stack.temporal;
    const uiUrl = withdrawalsInUi(stack.temporal);
    say(
      `  watch it in the Temporal Web UI, which ends with the demo: ${uiUrl}${uiNote === null ? '' : ` (${uiNote})`}`,
    );
    say('  5 withdrawals are to be paid, the last across a killed worker, and 1 is to be turned away');
    signal.throwIfAborted();
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    const report = await runScenario({ stack, sluice, node: stack.rpcUrls[0] ?? '', say, signal });
    return show(report, { temporalUi: uiUrl, temporalUiNote: uiNote }, output);
  } catch (error) {
    throw signal.aborted ? new Interrupted(`stopped by ${signal.reason}`) : error;
  } finally {
    await stack.close();
  }
}

function show({ rows, faults, ...summary }: DemoReport, links: object, output: Output): number {
  output.progress(`\n${renderTable(rows)}\n`);
  for (const fault of faults) output.progress(`not as it should be: ${fault}`);
  const error = { code: 'DemoFailed', message: faults.join('; ') };
  const { requested, finalized, transfersOnChain } = summary.withdrawals;
  output.result(
    { ...summary, ...links, ...(summary.ok ? {} : { error }) },
    `${requested} withdrawals asked for, ${finalized} finalized, ${transfersOnChain} transfers counted in the blocks`,
  );
  return summary.ok ? EXIT.ok : EXIT.failure;
}
