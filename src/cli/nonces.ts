import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import {
  advanceSubject,
  type ConsumedNonce,
  NONCE_ADVANCE,
  NONCE_CREATE,
} from '../domain/settlement-kinds.ts';
import type { SettlementEnd } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NonceAccountRow } from '../ledger/settlements/nonces.ts';
import { type Columns, localCommand, print, table, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { withDatabase } from './database.ts';
import { missingSetting, readDevFile, settings } from './dev-file.ts';
import { EXIT, UsageError } from './exit.ts';
import { parsePositive } from './numbers.ts';
import { type Output, run } from './output.ts';

const MAX_COUNT = 100;

/**
 * `sluice nonces`: durable nonce accounts. With SLUICE_LIFETIME=nonce each payment in progress needs one. The
 * commands need DATABASE_URL; `create` and `advance` also need TEMPORAL_ADDRESS and a worker.
 */
export function registerNonces(program: Command): void {
  const nonces = program
    .command('nonces')
    .description('List, create and advance durable nonce accounts, for SLUICE_LIFETIME=nonce');
  localCommand(nonces, 'list', 'List durable nonce accounts').action((options) =>
    print(
      options,
      async () => ({ nonceAccounts: (await withDatabase((ledger) => ledger.nonces.list())).map(present) }),
      ({ nonceAccounts }) => table('nonce accounts', COLUMNS, nonceAccounts),
    ),
  );
  localCommand(nonces, 'create', 'Create nonce accounts of the hot wallet, and wait until they are finalized')
    .requiredOption('--count <count>', `Number of accounts, 1 to ${MAX_COUNT}`, parseCount)
    .action(({ count, ...options }) =>
      run(options, async (output) => {
        const addresses = await withDatabase((ledger) => register(ledger, count));
        output.progress(
          `waiting for the finalization of ${addresses.length} nonce ${addresses.length === 1 ? 'account' : 'accounts'}`,
        );
        const ends = await settle(NONCE_CREATE, addresses);
        output.result({ created: addresses }, addresses.join('\n'));
        return ends.every(isDone) ? EXIT.ok : EXIT.failure;
      }),
    );
  registerAdvance(nonces);
}

function registerAdvance(nonces: Command): void {
  localCommand(
    nonces,
    'advance',
    'Advance the nonce of a withdrawal, so that its transaction can never land; the next attempt follows',
  )
    .argument('<withdrawal>', 'Withdrawal ID')
    .option(...YES_OPTION)
    .action((withdrawal, options) =>
      print(
        options,
        async (output) => {
          const effect = `This ends the live attempt of withdrawal ${withdrawal}; the next attempt follows`;
          await requireConsent(options, effect);
          return advance(withdrawal, output);
        },
        ({ signature }) => signature ?? "the withdrawal's own transaction has advanced the nonce",
      ),
    );
}

async function advance(withdrawal: string, output: Output) {
  const used = await withDatabase((ledger) => useUp(ledger, withdrawal));
  output.progress(`waiting until nonce account ${used.address} is advanced`);
  const [end] = await settle(NONCE_ADVANCE, [advanceSubject(used)]);
  return { kind: 'advance', ...used, signature: end?.signature ?? null };
}

function parseCount(text: string): number {
  const count = parsePositive(text);
  if (count > MAX_COUNT) throw new InvalidArgumentError(`It must be at most ${MAX_COUNT}.`);
  return count;
}

async function register(ledger: Ledger, count: number): Promise<readonly string[]> {
  const wallet = settings().hotWallet ?? readDevFile().hotWallet;
  if (wallet === undefined) throw missingSetting('SLUICE_HOT_WALLET');
  // A dynamic import, so that other commands start without the Solana libraries.
  const { nonceAddress, nonceSeed } = await import('../solana/nonces/account.ts');
  const addresses: string[] = [];
  while (addresses.length < count) {
    const { address } = await ledger.nonces.register(wallet, (n) => nonceAddress(wallet, nonceSeed(n)));
    addresses.push(address);
  }
  return addresses;
}

async function useUp(ledger: Ledger, withdrawalId: string): Promise<ConsumedNonce> {
  const attempts = await ledger.attempts.of(withdrawalId);
  const live = attempts.find(({ state }) => state === 'prepared' || state === 'signed');
  if (live === undefined || live.nonceAccount === null)
    throw new UsageError(`withdrawal ${withdrawalId} has no live attempt with a durable nonce`);
  const used = { address: live.nonceAccount, nonce: live.blockhash };
  await ledger.nonces.requestAdvance(used);
  return used;
}

async function settle(kind: string, subjectIds: readonly string[]): Promise<readonly SettlementEnd[]> {
  const { temporalAddress, temporalNamespace, payloadKeys } = settings();
  const dev = process.env.TEMPORAL_ADDRESS ? {} : readDevFile();
  const address = dev.temporalAddress ?? temporalAddress;
  const namespace = dev.temporalNamespace ?? temporalNamespace;
  const { dataConverter } = await import('../platform/temporal/codec.ts');
  const { runSettlement } = await import('../platform/temporal/starts.ts');
  const { connectTemporal } = await import('../platform/temporal/client.ts');
  const { connection, client } = await connectTemporal({ address, namespace }, dataConverter(payloadKeys));
  try {
    return await Promise.all(subjectIds.map((subjectId) => runSettlement(client, { kind, subjectId })));
  } finally {
    await connection.close();
  }
}

/** `cancelled`: the account existed already. */
function isDone({ status }: SettlementEnd): boolean {
  return status === 'finalized' || status === 'cancelled';
}

function present({ address, authority, state, settlementId, nonce }: NonceAccountRow) {
  return { address, authority, state, withdrawalId: settlementId, nonce };
}

const COLUMNS: Columns<ReturnType<typeof present>> = {
  account: ({ address }) => address,
  state: ({ state }) => state,
  withdrawal: ({ withdrawalId }) => withdrawalId ?? '',
  nonce: ({ nonce }) => nonce ?? '',
};
