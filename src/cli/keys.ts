import { randomBytes } from 'node:crypto';
import type { Command } from '@commander-js/extra-typings';
import { EXIT, UsageError } from './exit.ts';
import { run } from './output.ts';

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** `sluice keys create NAME`: gives out an API key. It is shown this once; the database keeps its hash. */
export function registerKeys(program: Command): void {
  program
    .command('keys')
    .description('API keys (needs DATABASE_URL)')
    .command('create')
    .description('give out an API key; it is shown this once')
    .argument('<name>', 'who it is for')
    .option('--json', 'one JSON object on stdout')
    .action((name, options) =>
      run(options.json ?? false, async (output) => {
        const key = await createKey(name, process.env.DATABASE_URL);
        output.result({ name, key }, key);
        return EXIT.ok;
      }),
    );
}

async function createKey(name: string, databaseUrl: string | undefined): Promise<string> {
  if (!NAME.test(name)) throw new UsageError('a name has 1 to 64 characters of A-Z a-z 0-9 . _ -');
  if (!databaseUrl) throw new UsageError('set DATABASE_URL');
  // Loaded here, so that the other commands start without a database client.
  const { openLedger } = await import('../ledger/ledger.ts');
  const ledger = await openLedger(databaseUrl);
  try {
    const key = `sluice_${randomBytes(32).toString('base64url')}`;
    await ledger.apiKeys.add(name, key);
    return key;
  } finally {
    await ledger.close();
  }
}
