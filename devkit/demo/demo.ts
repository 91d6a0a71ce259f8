import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { JSON_AND_PROGRESS_OPTION, type Output, run } from '../../src/cli/output.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import type { ChainKind } from '../localstack/chain.ts';
import type { Stack } from '../localstack/stack.ts';
import { chainOption, stoppedBy } from './dev.ts';
import type { DemoReport } from './report.ts';
import { renderTable } from './table.ts';

const STATE_DIR = '.sluice/demo';

/** `sluice demo`: real withdrawals, deposits and x402 sales on a chain of its own, across killed processes; then stops everything. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'Run withdrawals, deposits and x402 sales on a development chain, kill processes in the middle, count the transfers in the blocks',
    )
    .addOption(chainOption())
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) => run(options, (output) => demonstrate(output, options.chain)));
}

async function demonstrate(output: Output, chainKind: ChainKind | undefined): Promise<number> {
  // Loaded here, so that the other commands start without the whole stack.
  const [{ startStack }, { runScenario }, { developmentPool }, { startUpstream }, { demoRoutes }] =
    await Promise.all([
      import('../localstack/stack.ts'),
      import('./scenario.ts'),
      import('./development-pool.ts'),
      import('./upstream.ts'),
      import('./shopping.ts'),
    ]);
  const say = (line: string): void => output.progress(line);
  const signal = shutdownSignal();
  signal.addEventListener('abort', () => say('stopping'));
  const chain = chainKind === 'validator' ? 'solana-test-validator' : 'a Solana chain with two nodes';
  say(`starting Temporal, PostgreSQL, ${chain}, signer, workers, API and gateway …`);
  const pool = await developmentPool(`${STATE_DIR}/keys`, (line) => say(`  ${line}`));
  const upstream = await startUpstream();
  const stack = await startStack({
    stateDir: STATE_DIR,
    ...(chainKind === undefined ? {} : { chainKind }),
    sales: { routesOf: demoRoutes(upstream.url) },
    env: { ...process.env, SLUICE_ADDRESS_MANIFEST_KEY: pool.manifest.publicKey },
    signal,
    say: (line) => say(`  ${line}`),
  }).catch((error: unknown) => {
    throw stoppedBy(signal, error);
  });
  try {
    await announce(stack, say);
    signal.throwIfAborted();
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    const node = stack.rpcUrls[0] ?? '';
    return show(await runScenario({ stack, sluice, pool, upstream, node, say, signal }), output);
  } catch (error) {
    throw stoppedBy(signal, error);
  } finally {
    await stack.close();
    await upstream.close();
  }
}

async function announce({ temporal }: Stack, say: (line: string) => void): Promise<void> {
  const { withdrawalsInUi } = await import('../localstack/temporal.ts');
  const note = temporal.uiNote === null ? '' : ` (${temporal.uiNote})`;
  say(`  watch it in the Temporal Web UI, which ends with the demo: ${withdrawalsInUi(temporal)}${note}`);
  say('  5 x402 payments follow: one in each of the 4 payment formats, and one whose gateway is killed');
  say('  6 withdrawals follow: 5 are paid, the last one across a killed worker, and 1 is rejected');
  say('  8 deposits follow, the last one across a killed scanner, and 5 transfers that must not be credited');
}

function show({ rows, depositRows, saleRows, faults, ...summary }: DemoReport, output: Output): number {
  output.progress(`\n${renderTable(['withdrawal', 'status', 'base units'], rows)}`);
  output.progress(`\n${renderTable(['deposit', 'state', 'base units'], depositRows)}`);
  output.progress(`\n${renderTable(['x402 payment', 'state', 'base units'], saleRows)}\n`);
  for (const what of summary.chain.leftOut) output.progress(`not shown on ${summary.chain.kind}: ${what}`);
  for (const fault of faults) output.progress(`fault: ${fault}`);
  const error = { code: 'DemoFailed', message: faults.join('; ') };
  const { requested, finalized, transfersOnChain } = summary.withdrawals;
  const { made, credited, notCredited } = summary.deposits;
  const { paid, served, replayed, refusedDuplicates } = summary.x402;
  output.result(
    { ...summary, ...(summary.ok ? {} : { error }) },
    [
      `${requested} withdrawals requested, ${finalized} finalized, ${transfersOnChain} transfers counted in the blocks`,
      `${made} deposits counted in the blocks, ${credited} credited; not credited: ${countsOf(notCredited)}`,
      `${paid} x402 payments counted in the blocks, ${served} served; ${replayed} repeated payment got the stored answer, ${refusedDuplicates} reuse for another request was refused`,
    ].join('\n'),
  );
  return summary.ok ? EXIT.ok : EXIT.failure;
}

function countsOf(reasons: Readonly<Record<string, number>>): string {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  return counts.length === 0 ? 'none' : counts.join(', ');
}
