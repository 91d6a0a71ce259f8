import type { Command } from '@commander-js/extra-typings';
import type { ApiKeys } from '../ledger/operations/api-keys.ts';
import { newApiKey } from '../ledger/operations/api-keys.ts';
import { type Columns, localCommand, print, table } from './command.ts';
import { withDatabase } from './database.ts';
import { UsageError } from './exit.ts';

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** `sluice keys`. The database stores only a hash of each key. */
export function registerKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('Create, list and revoke keys of the API and of the facilitator');
  localCommand(keys, 'create', 'Create an API key and print it once; replaces the key of the same name')
    .argument('<name>', 'Name of the key, stored with every action of its callers')
    .option('--facilitator', 'Create a key of the x402 facilitator, which is no key of the API')
    .action((name, options) =>
      print(
        options,
        () => createKey(name, options.facilitator === true),
        ({ key }) => key,
      ),
    );
  localCommand(keys, 'list', 'List the keys, without their secrets').action((options) =>
    print(options, listKeys, ({ keys: listed }) => table('keys', COLUMNS, listed)),
  );
  localCommand(keys, 'revoke', 'Delete a key; requests with it fail from then on')
    .argument('<name>', 'Name of the key')
    .action((name, options) =>
      print(
        options,
        () => revokeKey(name),
        () => `revoked ${name}`,
      ),
    );
}

async function createKey(name: string, isForFacilitator: boolean) {
  if (!NAME.test(name)) throw new UsageError('<name> must have 1 to 64 characters of A-Z a-z 0-9 . _ -');
  const key = newApiKey();
  await withDatabase(({ apiKeys }) =>
    isForFacilitator ? apiKeys.addFacilitatorKey(name, key) : apiKeys.add(name, key),
  );
  return { name, key };
}

async function listKeys() {
  const keys = await withDatabase(({ apiKeys }) => apiKeys.list());
  return { keys: keys.map(presentKey) };
}

function presentKey({ createdAt, ...key }: Awaited<ReturnType<ApiKeys['list']>>[number]) {
  return { ...key, createdAt: createdAt.toISOString() };
}

async function revokeKey(name: string) {
  await withDatabase(({ apiKeys }) => apiKeys.revoke(name));
  return { name };
}

const COLUMNS: Columns<ReturnType<typeof presentKey>> = {
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  created: ({ createdAt }) => createdAt,
};
