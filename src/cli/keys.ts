import type { Command } from '@commander-js/extra-typings';
import { isAddress } from '../domain/address.ts';
import { parseAmount } from '../domain/amount.ts';
import type { ApiKeys, FacilitatorLimits } from '../ledger/operations/api-keys.ts';
import { newApiKey } from '../ledger/operations/api-keys.ts';
import { type Columns, localCommand, print, table, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { withDatabase } from './database.ts';
import { UsageError } from './exit.ts';

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** `sluice keys`. The database stores only a hash of each key. */
export function registerKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('Create, list and revoke keys of the API and of the facilitator');
  localCommand(keys, 'create', 'Create a key and print it once, or replace the key of the same name')
    .argument('<name>', 'Name of the key, stored with every action of its callers')
    .option('--facilitator', 'Create a key of the x402 facilitator, which is no key of the API')
    .option('--mint <mint...>', 'Facilitator: only payments of these mints (default: any mint)')
    .option('--pay-to <wallet...>', 'Facilitator: only payments to these wallets (default: any wallet)')
    .option(
      '--lamports-per-hour <lamports>',
      'Facilitator: maximum fees of its payments (default: SLUICE_X402_FACILITATOR_LAMPORTS_PER_HOUR)',
    )
    .option(...YES_OPTION)
    .action((name, options) =>
      print(
        options,
        () => createKey(name, options),
        ({ key }) => key,
      ),
    );
  localCommand(keys, 'list', 'List the keys, without their secrets').action((options) =>
    print(options, listKeys, ({ keys: listed }) => table('keys', COLUMNS, listed)),
  );
  localCommand(keys, 'revoke', 'Delete a key; requests with it fail from then on')
    .argument('<name>', 'Name of the key')
    .option(...YES_OPTION)
    .action((name, options) =>
      print(
        options,
        () => revokeKey(name, options),
        () => `revoked ${name}`,
      ),
    );
}

interface KeyOptions {
  readonly facilitator?: true | undefined;
  readonly mint?: readonly string[] | undefined;
  readonly payTo?: readonly string[] | undefined;
  readonly lamportsPerHour?: string | undefined;
  readonly yes?: true | undefined;
}

async function createKey(name: string, options: KeyOptions) {
  if (!NAME.test(name)) throw new UsageError('<name> must have 1 to 64 characters of A-Z a-z 0-9 . _ -');
  const limits = readLimits(options);
  const key = newApiKey();
  await withDatabase(async ({ apiKeys }) => {
    const store = (replace: boolean) =>
      options.facilitator === true
        ? apiKeys.addFacilitatorKey(name, key, limits, { replace })
        : apiKeys.add(name, key, { replace });
    if (await store(false)) return;
    await requireConsent(options, `This replaces the key ${name}: the earlier key is refused at once`);
    await store(true);
  });
  return { name, key };
}

function readLimits({ facilitator, mint, payTo, lamportsPerHour }: KeyOptions): FacilitatorLimits {
  if (facilitator !== true && (mint ?? payTo ?? lamportsPerHour) !== undefined)
    throw new UsageError('--mint, --pay-to and --lamports-per-hour need --facilitator');
  for (const address of [...(mint ?? []), ...(payTo ?? [])])
    if (!isAddress(address)) throw new UsageError(`${address} is not an address`);
  const budget = lamportsPerHour === undefined ? null : parseAmount(lamportsPerHour, '--lamports-per-hour');
  return { mints: mint ?? null, payTos: payTo ?? null, lamportsPerHour: budget };
}

async function listKeys() {
  const keys = await withDatabase(({ apiKeys }) => apiKeys.list());
  return { keys: keys.map(presentKey) };
}

function presentKey({ createdAt, lamportsPerHour, ...key }: Awaited<ReturnType<ApiKeys['list']>>[number]) {
  const budget = lamportsPerHour === null ? null : lamportsPerHour.toString();
  return { ...key, lamportsPerHour: budget, createdAt: createdAt.toISOString() };
}

async function revokeKey(name: string, consent: Pick<KeyOptions, 'yes'>) {
  await requireConsent(consent, `This deletes the key ${name}: requests with it fail at once`);
  await withDatabase(({ apiKeys }) => apiKeys.revoke(name));
  return { name };
}

function anyOf(kind: 'api' | 'facilitator'): string {
  return kind === 'api' ? '' : 'any';
}

const COLUMNS: Columns<ReturnType<typeof presentKey>> = {
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  mints: ({ kind, mints }) => mints?.join(' ') ?? anyOf(kind),
  'pay to': ({ kind, payTos }) => payTos?.join(' ') ?? anyOf(kind),
  'lamports per hour': ({ kind, lamportsPerHour }) => lamportsPerHour ?? (kind === 'api' ? '' : 'default'),
  created: ({ createdAt }) => createdAt,
};
