import type { Command } from '@commander-js/extra-typings';
import { newApiKey } from '../ledger/api-keys.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { withRecord } from './record.ts';

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** `sluice keys create NAME`: gives out an API key. It is shown this once; the database keeps its hash. */
export function registerKeys(program: Command): void {
  program
    .command('keys')
    .description('API keys; who gave an order by one is on record under its name')
    .command('create')
    .description('give out an API key; it is shown this once')
    .argument('<name>', 'who it is for')
    .option(...JSON_OPTION)
    .action((name, options) =>
      run(options, async (output) => {
        const key = await createKey(name);
        output.result({ name, key }, key);
        return EXIT.ok;
      }),
    );
}

async function createKey(name: string): Promise<string> {
  if (!NAME.test(name)) throw new UsageError('a name has 1 to 64 characters of A-Z a-z 0-9 . _ -');
  const key = newApiKey();
  await withRecord((ledger) => ledger.apiKeys.add(name, key));
  return key;
}
