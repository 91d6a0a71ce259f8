import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import { type Stack, startStack } from '../localstack/stack.ts';
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
        const { startStack } = await import('../localstack/stack.ts');
        const { signal } = shutdownSignal();
        const httpPort = Number(process.env.SLUICE_HTTP_PORT || HTTP_PORT);
        const stack = await startStack({ httpPort, uiPort: UI_PORT, say: (line) => output.progress(line) });
        try {
          const addresses = addressesOf(stack);
          mkdirSync('.sluice', { recursive: true });
          writeFileSync(DEV_FILE, `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
          output.result(addresses, describe(addresses));
          await aborted(signal);
          output.progress('stopping');
        } finally {
          rmSync(DEV_FILE, { force: true });
          await stack.close();
        }
        return EXIT.ok;
      }),
    );
}

type Addresses = ReturnType<typeof addressesOf>;

/** What `.sluice/dev.json` holds. */
function addressesOf(stack: Stack) {
  return {
    apiUrl: stack.apiUrl,
    apiKey: stack.apiKey,
    temporalUi: stack.temporal.uiUrl,
    temporalAddress: stack.temporal.address,
    databaseUrl: stack.databaseUrl,
    rpcUrls: stack.rpcUrls,
    hotWallet: stack.hotWallet,
    signerKeyFile: stack.signerKeyFile,
    ...(stack.chainInfo === null
      ? {}
      : { mint: stack.chainInfo['mint'], feeMint: stack.chainInfo['feeMint'] }),
    logDir: stack.logDir,
  };
}

function describe(addresses: Addresses): string {
  return [
    '',
    `  API          ${addresses.apiUrl}   (key in ${DEV_FILE})`,
    `  Temporal UI  ${addresses.temporalUi ?? 'not started here'}`,
    `  Solana RPC   ${addresses.rpcUrls.join('  ')}`,
    `  hot wallet   ${addresses.hotWallet}`,
    `  logs         ${addresses.logDir}`,
    '',
    '  Ctrl-C stops everything.',
  ].join('\n');
}
