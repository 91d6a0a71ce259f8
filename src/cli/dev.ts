import type { Command } from '@commander-js/extra-typings';
import type { Stack } from '../localstack/stack.ts';
import { aborted, shutdownSignal } from '../platform/shutdown.ts';
import { DEV_FILE } from './connection.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';

const HTTP_PORT = 3402;
const UI_PORT = 8233;

/** `sluice dev`: the whole stack, until Ctrl-C. */
export function registerDev(program: Command): void {
  program
    .command('dev')
    .description('run Temporal, PostgreSQL, a chain, workers and the API until Ctrl-C')
    .option('--json', 'progress to stderr, the addresses as one JSON line on stdout')
    .action((options) =>
      run(options.json ?? false, async (output) => {
        // Loaded here, so that the other commands start without the whole stack.
        const [{ startStack }, { devFacts, writeDevFile }] = await Promise.all([
          import('../localstack/stack.ts'),
          import('../localstack/dev-file.ts'),
        ]);
        const { signal } = shutdownSignal();
        const httpPort = Number(process.env.SLUICE_HTTP_PORT || HTTP_PORT);
        const stack = await startStack({ httpPort, uiPort: UI_PORT, say: (line) => output.progress(line) });
        const removeDevFile = writeDevFile(stack, DEV_FILE);
        try {
          output.result(devFacts(stack), describe(stack));
          await aborted(signal);
          output.progress('stopping');
        } finally {
          removeDevFile();
          await stack.close();
        }
        return EXIT.ok;
      }),
    );
}

function describe(stack: Stack): string {
  return [
    '',
    `  API          ${stack.apiUrl}   (key in ${DEV_FILE})`,
    `  Temporal UI  ${stack.temporal.uiUrl ?? 'not started here'}`,
    `  Solana RPC   ${stack.rpcUrls.join('  ')}`,
    `  hot wallet   ${stack.hotWallet}`,
    `  logs         ${stack.logDir}`,
    '',
    '  Ctrl-C stops everything.',
  ].join('\n');
}
