import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import type { AddressImport, AddressManifest, DepositAddress, Warning } from '../client/client.ts';
import { type Generated, generate } from './addresses/generate.ts';
import { apiCommand, call, localCommand, print } from './command.ts';
import { UsageError } from './exit.ts';
import { notNegative, positive } from './numbers.ts';

/** The API counts free addresses up to this number. */
const MAX_COUNTED = 10_000;

export function registerAddresses(program: Command): void {
  const addresses = program.command('addresses').description('Generate, import and assign deposit addresses');
  registerGenerate(addresses);
  registerImport(addresses);
  registerUsers(addresses);
}

function registerImport(addresses: Command): void {
  apiCommand(addresses, 'import', 'Import the addresses of a manifest; importing it again changes nothing')
    .argument('<file>', 'Manifest written by `sluice addresses generate`')
    .option('--since <slot>', 'Audit the addresses from this slot on before they are assigned', notNegative)
    .action((file, { since, ...options }) =>
      call(
        options,
        async (sluice) =>
          sluice.depositAddresses.import(await readManifest(file), { since: since?.toString() }),
        (imported) => renderImport(imported, since !== undefined),
      ),
    );
}

function renderImport({ imported, known, free, warnings }: AddressImport, isAudited: boolean): string {
  const later = isAudited && imported > 0 ? '; the new ones follow when their audit ends' : '';
  const counts = `${imported} imported, ${known} known before; ${describeFree(free)} can be assigned${later}`;
  return [counts, ...warnings.map(renderWarning)].join('\n');
}

function describeFree(free: number): string {
  return free < MAX_COUNTED ? String(free) : `${free} or more`;
}

function registerUsers(addresses: Command): void {
  apiCommand(addresses, 'assign', 'Assign a deposit address to a user; a user always has the same address')
    .argument('<user>', 'Your ID of the user')
    .action((user, options) =>
      call(
        options,
        (sluice) => sluice.depositAddresses.assign(user),
        ({ address }) => address,
      ),
    );
  apiCommand(addresses, 'get', 'Show a deposit address and its warnings')
    .argument('<address>', 'Deposit address')
    .action((address, options) =>
      call(options, (sluice) => sluice.depositAddresses.get(address), renderAddress),
    );
}

function registerGenerate(addresses: Command): void {
  localCommand(
    addresses,
    'generate',
    'Derive wallets offline (BIP-39, SLIP-0010) and write their signed manifest; sends nothing',
  )
    .requiredOption('--count <count>', 'Number of addresses', positive)
    .requiredOption('--out <file>', 'Manifest to write; never overwritten')
    .option('--start <index>', "First index i of m/44'/501'/i'/0'", notNegative, 0)
    .option(
      '--mnemonic-file <file>',
      'English BIP-39 mnemonic (default: a new one, written beside the manifest)',
    )
    .action((options) => print(options, (output) => generate(options, output), renderGenerated));
}

function renderGenerated({ count, manifest, first, manifestKey }: Generated): string {
  return [
    `${count} addresses in ${manifest}, the first is ${first}`,
    `To let the API accept no other manifests, set SLUICE_ADDRESS_MANIFEST_KEY=${manifestKey}`,
  ].join('\n');
}

/** Reads a manifest file. Checks only its shape; the API verifies it. */
async function readManifest(file: string): Promise<AddressManifest> {
  const manifest: unknown = await readFile(file, 'utf8')
    .then(JSON.parse)
    .catch(() => {
      throw new UsageError(`<file> must be a manifest in JSON, which ${file} is not`);
    });
  if (!isManifest(manifest)) throw new UsageError(`<file> must be an address manifest, which ${file} is not`);
  return manifest;
}

function isManifest(content: unknown): content is AddressManifest {
  return typeof content === 'object' && content !== null && 'entries' in content && 'signature' in content;
}

const STATE_IN_WORDS: Readonly<Partial<Record<DepositAddress['state'], string>>> = {
  used: 'used (paid before it was assigned; it is never assigned)',
  withheld: 'withheld (a user may have it since before a database restore; it is never assigned)',
};

function renderAddress({ address, state, userRef, path, since, warnings }: DepositAddress): string {
  const whose = userRef === null ? (STATE_IN_WORDS[state] ?? state) : `${state} to ${userRef}`;
  const audit = since === null ? '' : `  ${state === 'auditing' ? 'to be ' : ''}audited from slot ${since}`;
  return [`${address}  ${whose}  ${path}${audit}`, ...warnings.map(renderWarning)].join('\n');
}

function renderWarning({ message }: Warning): string {
  return `warning: ${message}`;
}
