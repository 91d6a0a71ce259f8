import type { Command } from '@commander-js/extra-typings';
import { SluiceClient } from '../client/client.ts';
import type { ChainKind } from '../localstack/chain.ts';
import { shutdownSignal } from '../platform/shutdown.ts';
import { chainOption } from './chain-option.ts';
import type { DemoReport } from './demo/report.ts';
import { renderTable } from './demo/table.ts';
import { EXIT } from './exit.ts';
import { stoppedBy } from './interruption.ts';
import { JSON_AND_PROGRESS_OPTION, type Output, run } from './output.ts';

const STATE_DIR = '.sluice/demo';

/** `sluice demo`: real withdrawals and deposits on a chain of its own, across killed workers; then stops everything. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'run withdrawals and deposits on a development chain, kill workers in the middle, count what the blocks show',
    )
    .addOption(chainOption())
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) => run(options, (output) => demonstrate(output, options.chain)));
}

async function demonstrate(output: Output, chainKind: ChainKind | undefined): Promise<number> {
  // Loaded here, so that the other commands start without the whole stack.
  const [{ startStack }, { withdrawalsInUi }, { runScenario }, { developmentPool }] = await Promise.all([
    import('../localstack/stack.ts'),
    import('../localstack/temporal.ts'),
    import('./demo/scenario.ts'),
    import('./development-pool.ts'),
  ]);
  const say = (line: string): void => output.progress(line);
  const { signal } = shutdownSignal();
  signal.addEventListener('abort', () => say('stopping'));
  const chain = chainKind === 'validator' ? 'solana-test-validator' : 'a Solana chain with two nodes';
  say(`starting Temporal, PostgreSQL, ${chain}, signer, worker and API …`);
  const pool = await developmentPool(`${STATE_DIR}/keys`, (line) => say(`  ${line}`));
  const stack = await startStack({
    stateDir: STATE_DIR,
    ...(chainKind === undefined ? {} : { chainKind }),
    env: { ...process.env, SLUICE_ADDRESS_MANIFEST_KEY: pool.manifest.publicKey },
    signal,
    say: (line) => say(`  ${line}`),
  }).catch((error: unknown) => {
    throw stoppedBy(signal, error);
  });
  try {
    const { uiNote } = stack.temporal;
    const uiUrl = withdrawalsInUi(stack.temporal);
    say(
      `  watch it in the Temporal Web UI, which ends with the demo: ${uiUrl}${uiNote === null ? '' : ` (${uiNote})`}`,
    );
    say('  5 withdrawals are to be paid, the last across a killed worker, and 1 is to be turned away');
    say(
      '  8 deposits are to be credited, the last across a killed scanner, and 5 fakes are not: 4 arrive and are listed, 1 fails and brings nothing',
    );
    signal.throwIfAborted();
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    const report = await runScenario({ stack, sluice, pool, node: stack.rpcUrls[0] ?? '', say, signal });
    return show(report, output);
  } catch (error) {
    throw stoppedBy(signal, error);
  } finally {
    await stack.close();
  }
}

function show({ rows, depositRows, faults, ...summary }: DemoReport, output: Output): number {
  output.progress(`\n${renderTable(['withdrawal', 'status', 'asked'], rows)}`);
  output.progress(`\n${renderTable(['deposit', 'state', 'sent'], depositRows)}\n`);
  for (const what of summary.chain.leftOut) output.progress(`not shown on ${summary.chain.kind}: ${what}`);
  for (const fault of faults) output.progress(`not as it should be: ${fault}`);
  const error = { code: 'DemoFailed', message: faults.join('; ') };
  const { requested, finalized, transfersOnChain } = summary.withdrawals;
  const { made, credited, notCredited } = summary.deposits;
  output.result(
    { ...summary, ...(summary.ok ? {} : { error }) },
    [
      `${requested} withdrawals asked for, ${finalized} finalized, ${transfersOnChain} transfers counted in the blocks`,
      `${made} deposits counted in the blocks, ${credited} credited; not credited: ${countsOf(notCredited)}`,
    ].join('\n'),
  );
  return summary.ok ? EXIT.ok : EXIT.failure;
}

function countsOf(reasons: Readonly<Record<string, number>>): string {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  return counts.length === 0 ? 'none' : counts.join(', ');
}
