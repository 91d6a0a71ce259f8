import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import type { AddressImport, AddressManifest, DepositAddress, Warning } from '../client/client.ts';
import { type GenerateResult, generate } from './addresses/generate.ts';
import { apiCommand, call, localCommand, print } from './command.ts';
import { UsageError } from './exit.ts';
import { parseNotNegative, parsePositive } from './numbers.ts';

/** The API counts at least this many free addresses exactly. */
const MAX_EXACT_COUNT = 10_000;

export function registerAddresses(program: Command): void {
  const addresses = program.command('addresses').description('Generate, import and assign deposit addresses');
  registerGenerate(addresses);
  registerImport(addresses);
  registerUsers(addresses);
}

function registerImport(addresses: Command): void {
  apiCommand(addresses, 'import', 'Import the addresses of a manifest; importing it again changes nothing')
    .argument('<file>', 'Manifest written by `sluice addresses generate`')
    .option(
      '--since <slot>',
      'Audit the addresses from this slot on before they are assigned',
      parseNotNegative,
    )
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
  const auditNote = isAudited && imported > 0 ? '; the new addresses can be assigned after their audit' : '';
  const counts = `${imported} addresses imported, ${known} already known; ${describeFree(free)} can be assigned${auditNote}`;
  return [counts, ...warnings.map(renderWarning)].join('\n');
}

function describeFree(free: number): string {
  return free < MAX_EXACT_COUNT ? String(free) : `${free} or more`;
}

function registerUsers(addresses: Command): void {
  apiCommand(
    addresses,
    'assign',
    'Assign a deposit address to a user; the same user always gets the same address',
  )
    .argument('<user>', 'Your ID for the user')
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
    .requiredOption('--count <count>', 'Number of addresses', parsePositive)
    .requiredOption('--out <file>', 'Manifest file to write; an existing file is never overwritten')
    .option('--start <index>', "First index i of m/44'/501'/i'/0'", parseNotNegative, 0)
    .option(
      '--mnemonic-file <file>',
      'File with an English BIP-39 mnemonic (default: a new mnemonic is written beside the manifest)',
    )
    .action((options) => print(options, (output) => generate(options, output), renderGenerated));
}

function renderGenerated({ count, manifest, first, manifestKey }: GenerateResult): string {
  return [
    `${count} addresses in ${manifest}, the first is ${first}`,
    `To make the API accept only manifests with this key, set SLUICE_ADDRESS_MANIFEST_KEY=${manifestKey}`,
  ].join('\n');
}

/** Reads a manifest file. Checks only its shape; the API verifies it. */
async function readManifest(file: string): Promise<AddressManifest> {
  const manifest: unknown = await readFile(file, 'utf8')
    .then(JSON.parse)
    .catch(() => {
      throw new UsageError(`<file> must be an address manifest in JSON, but ${file} cannot be read as JSON`);
    });
  if (!isManifest(manifest))
    throw new UsageError(`<file> must be an address manifest, but ${file} is not one`);
  return manifest;
}

function isManifest(content: unknown): content is AddressManifest {
  return typeof content === 'object' && content !== null && 'entries' in content && 'signature' in content;
}

const STATE_TEXTS: Readonly<Partial<Record<DepositAddress['state'], string>>> = {
  used: 'used (it received a deposit before it was assigned, so it is never assigned)',
  withheld: 'withheld (a user may have got it before a database restore, so it is never assigned)',
};

function renderAddress({ address, state, userRef, path, since, warnings }: DepositAddress): string {
  const assignment = userRef === null ? (STATE_TEXTS[state] ?? state) : `${state} to ${userRef}`;
  const audit = since === null ? '' : `  ${state === 'auditing' ? 'to be ' : ''}audited from slot ${since}`;
  return [`${address}  ${assignment}  ${path}${audit}`, ...warnings.map(renderWarning)].join('\n');
}

function renderWarning({ message }: Warning): string {
  return `warning: ${message}`;
}
