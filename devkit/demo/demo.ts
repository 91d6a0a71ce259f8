import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { JSON_AND_PROGRESS_OPTION, type Output, run } from '../../src/cli/output.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import type { ChainInfo, ChainKind } from '../localstack/chain.ts';
import type { Stack } from '../localstack/stack.ts';
import { chainOption, errorOrInterruption } from './dev.ts';
import type { DemoReport } from './report.ts';

const STATE_DIR = '.sluice/demo';

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'Run withdrawals, deposits and x402 sales on a development chain, kill processes during them, and count the transfers in the blocks',
    )
    .addOption(chainOption())
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) => run(options, (output) => demonstrate(output, options.chain)));
}

async function demonstrate(output: Output, chainKind: ChainKind | undefined): Promise<number> {
  // Import on demand, so that other commands start without loading the stack.
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
    throw errorOrInterruption(signal, error);
  });
  try {
    await announce(stack, say);
    signal.throwIfAborted();
    const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
    const node = stack.rpcUrls[0] ?? '';
    const report = await runScenario({ stack, sluice, pool, upstream, node, say, signal });
    return await printReport(report, stack.chainInfo, output);
  } catch (error) {
    throw errorOrInterruption(signal, error);
  } finally {
    await stack.close();
    await upstream.close();
  }
}

async function announce({ temporal }: Stack, say: (line: string) => void): Promise<void> {
  const { withdrawalsInUi } = await import('../localstack/temporal.ts');
  const note = temporal.uiNote === null ? '' : ` (${temporal.uiNote})`;
  say(`  Temporal Web UI, until the demo ends: ${withdrawalsInUi(temporal)}${note}`);
  say(
    '  next: 5 x402 payments, one in each of the 4 payment formats, then one whose gateway is killed; one access pass is used',
  );
  say(
    '  next: 6 withdrawals, of which 5 are paid (a worker is killed during the last one) and 1 is rejected',
  );
  say(
    '  next: 8 deposits (the scanner is killed during the last one), and 5 transfers that must not be credited',
  );
}

async function printReport(report: DemoReport, chain: ChainInfo | null, output: Output): Promise<number> {
  const { renderTable, WITHDRAWAL_HEADINGS } = await import('./table.ts');
  const { rows, depositRows, saleRows, faults, ...summary } = report;
  output.progress('\nPromise: each withdrawal is paid exactly once, or rejected without a payment');
  output.progress(renderTable(WITHDRAWAL_HEADINGS, rows, chain));
  output.progress('\nPromise: each deposit is credited exactly once, and no other transfer is credited');
  output.progress(renderTable(['transfer to a user', 'result', 'sent'], depositRows, chain));
  output.progress('\nPromise: each x402 payment is settled once and buys one response');
  output.progress(`${renderTable(['x402 payment', 'result', 'price'], saleRows, chain)}\n`);
  for (const what of summary.chain.leftOut) output.progress(`not covered on ${summary.chain.kind}: ${what}`);
  for (const fault of faults) output.progress(`fault: ${fault}`);
  const error = { code: 'DemoFailed', message: faults.join('; ') };
  const { requested, finalized, transfersOnChain } = summary.withdrawals;
  const { made, credited, notCredited } = summary.deposits;
  const { paid, served, replayed, refusedDuplicates, passes } = summary.x402;
  output.result(
    { ...summary, ...(summary.ok ? {} : { error }) },
    [
      `${requested} withdrawals requested, ${finalized} finalized, ${transfersOnChain} transfers counted in the blocks`,
      `${made} deposits counted in the blocks, ${credited} credited; not credited: ${countsOf(notCredited)}`,
      `${paid} x402 payments counted in the blocks, ${served} served; repeated for the same request and answered from storage: ${replayed}; refused for another request: ${refusedDuplicates}; served by an access pass: ${passes}`,
    ].join('\n'),
  );
  return summary.ok ? EXIT.ok : EXIT.failure;
}

function countsOf(reasons: Readonly<Record<string, number>>): string {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  return counts.length === 0 ? 'none' : counts.join(', ');
}
