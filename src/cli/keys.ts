import type { Command } from '@commander-js/extra-typings';
import { newApiKey } from '../ledger/operations/api-keys.ts';
import { localCommand, print, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { withDatabase } from './database.ts';
import { UsageError } from './exit.ts';

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** `sluice keys`. The database stores only a hash of each key. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('Create API keys');
  localCommand(keys, 'create', 'Create an API key and print it once, or replace the key of the same name')
    .argument('<name>', 'Name of the key, stored with every action of its callers')
    .option(...YES_OPTION)
    .action((name, options) =>
      print(
        options,
        () => createKey(name, options),
        ({ key }) => key,
      ),
    );
}

async function createKey(name: string, consent: { readonly yes?: true | undefined }) {
  if (!NAME.test(name)) throw new UsageError('<name> must have 1 to 64 characters of A-Z a-z 0-9 . _ -');
  const key = newApiKey();
  await withDatabase(async ({ apiKeys }) => {
    if (await apiKeys.add(name, key, { replace: false })) return;
    await requireConsent(
      consent,
      `This replaces the API key ${name}: the API refuses the earlier key at once`,
    );
    await apiKeys.add(name, key);
  });
  return { name, key };
}
