import type { Command } from '@commander-js/extra-typings';
import { advanceSubject, NONCE_ADVANCE, NONCE_CREATE, type UsedUp } from '../domain/nonce-settlements.ts';
import type { SettlementEnd } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NonceAccountRow } from '../ledger/nonces.ts';
import { type Config, ConfigError, readConfig } from '../platform/config.ts';
import { inColumns } from './columns.ts';
import { notSet, readDevFile } from './dev-file.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_AND_PROGRESS_OPTION, JSON_OPTION, run } from './output.ts';
import { withRecord } from './record.ts';

const MOST_AT_ONCE = 100;

/**
 * `sluice nonces`, `sluice nonces create COUNT` and `sluice nonces advance WITHDRAWAL`: the durable nonce accounts that payments with
 * SLUICE_LIFETIME=nonce need, one for each on its way. Needs DATABASE_URL, and to change anything TEMPORAL_ADDRESS and a worker.
 */
export function registerNonces(program: Command): void {
  const nonces = program
    .command('nonces')
    .description('durable nonce accounts, for SLUICE_LIFETIME=nonce')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const accounts = await withRecord((ledger) => ledger.nonces.list());
        output.result({ nonceAccounts: accounts.map(toJson) }, render(accounts));
        return EXIT.ok;
      }),
    );
  nonces
    .command('create')
    .description('make accounts with the hot wallet as their authority, and wait until they are final')
    .argument('<count>', `how many, 1 to ${MOST_AT_ONCE}`)
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((count, _options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const addresses = await withRecord((ledger) => register(ledger, howMany(count)));
        output.progress(`waiting until ${addresses.length} accounts are final`);
        const ends = await settle(NONCE_CREATE, addresses);
        output.result({ created: addresses }, addresses.join('\n'));
        return ends.every(isDone) ? EXIT.ok : EXIT.failure;
      }),
    );
  registerAdvance(nonces);
}

function registerAdvance(nonces: Command): void {
  nonces
    .command('advance')
    .description(
      'use up the nonce of a withdrawal whose transaction shall not land; the next attempt follows',
    )
    .argument('<withdrawal>', 'its id')
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((withdrawal, _options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const used = await withRecord((ledger) => useUp(ledger, withdrawal));
        output.progress(`waiting until the nonce of ${used.address} is used up`);
        const [end] = await settle(NONCE_ADVANCE, [advanceSubject(used)]);
        const signature = end?.signature ?? null;
        output.result(
          { kind: 'advance', ...used, signature },
          signature ?? 'its own transaction has used up the nonce',
        );
        return EXIT.ok;
      }),
    );
}

function howMany(text: string): number {
  const count = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MOST_AT_ONCE) throw new UsageError(`the count must be 1 to ${MOST_AT_ONCE}`);
  return count;
}

async function register(ledger: Ledger, count: number): Promise<readonly string[]> {
  const wallet = settings().hotWallet ?? readDevFile().hotWallet;
  if (wallet === undefined) throw notSet('SLUICE_HOT_WALLET');
  // Loaded here, so that the other commands start without the chain's libraries.
  const { nonceAddress, nonceSeed } = await import('../solana/nonces.ts');
  const addresses: string[] = [];
  while (addresses.length < count) {
    const { address } = await ledger.nonces.register(wallet, (n) => nonceAddress(wallet, nonceSeed(n)));
    addresses.push(address);
  }
  return addresses;
}

async function useUp(ledger: Ledger, withdrawalId: string): Promise<UsedUp> {
  const attempts = await ledger.attempts.of(withdrawalId);
  const live = attempts.find(({ state }) => state === 'prepared' || state === 'signed');
  if (live === undefined || live.nonceAccount === null)
    throw new UsageError(`withdrawal ${withdrawalId} has no live attempt with a durable nonce`);
  const used = { address: live.nonceAccount, nonce: live.blockhash };
  await ledger.nonces.useUp(used);
  return used;
}

async function settle(kind: string, subjectIds: readonly string[]): Promise<readonly SettlementEnd[]> {
  const { temporalAddress, temporalNamespace, payloadKeys } = settings();
  const dev = process.env.TEMPORAL_ADDRESS ? {} : readDevFile();
  const address = dev.temporalAddress ?? temporalAddress;
  const namespace = dev.temporalNamespace ?? temporalNamespace;
  const { dataConverter } = await import('../platform/codec.ts');
  const { runSettlement } = await import('../platform/start-settlement.ts');
  const { connectTemporal } = await import('../platform/temporal.ts');
  const { connection, client } = await connectTemporal({ address, namespace }, dataConverter(payloadKeys));
  try {
    return await Promise.all(subjectIds.map((subjectId) => runSettlement(client, { kind, subjectId })));
  } finally {
    await connection.close();
  }
}

/** Landed, or found to be made already. */
function isDone({ status }: SettlementEnd): boolean {
  return status === 'finalized' || status === 'cancelled';
}

function settings(): Config {
  try {
    return readConfig(process.env, 'tool');
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error;
  }
}

function toJson({ address, authority, state, settlementId, nonce }: NonceAccountRow): object {
  return { address, authority, state, withdrawalId: settlementId, nonce };
}

function render(accounts: readonly NonceAccountRow[]): string {
  if (accounts.length === 0) return 'no nonce accounts';
  const rows = accounts.map(({ address, state, settlementId, nonce }) => [
    address,
    state,
    settlementId ?? '',
    nonce ?? '',
  ]);
  return inColumns([['account', 'state', 'withdrawal', 'nonce'], ...rows]).join('\n');
}
