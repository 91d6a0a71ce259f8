import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import type { AddressManifest, DepositAddress, Warning } from '../client/client.ts';
import { generate } from './addresses/generate.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { notNegative, positive } from './numbers.ts';
import { JSON_AND_PROGRESS_OPTION, JSON_OPTION, run } from './output.ts';
import { WHY_ARGUMENT } from './word.ts';

const MOST_COUNTED = 10_000;
const AUDITED = '; the new ones are once they are audited';

/** `sluice addresses …`: the wallets of depositors, from the words that they come from to the user that has one. */
export function registerAddresses(program: Command): void {
  const addresses = program.command('addresses').description('deposit addresses: make, import and give out');
  registerGenerate(addresses);
  registerImport(addresses);
  registerUsers(addresses);
  registerRelease(addresses);
}

function registerImport(addresses: Command): void {
  addresses
    .command('import')
    .description('take the addresses of a manifest into the pool; the same again changes nothing')
    .argument('<file>', 'what "addresses generate" wrote')
    .option(
      '--since <slot>',
      'they may have been paid from this slot on: audit them before they are given out',
    )
    .option(
      '--kept-back',
      'after a restore: users may have the new ones; watch them, and give them to nobody',
    )
    .option(...JSON_OPTION)
    .action((file, { since, keptBack = false, ...options }) =>
      run(options, async (output) => {
        const how = { keptBack, ...(since === undefined ? {} : { since }) };
        const done = await connect().depositAddresses.import(await readManifest(file), how);
        const audited = since === undefined || done.imported === 0 ? '' : AUDITED;
        const counts = `${done.imported} imported, ${done.known} known before; ${inWords(done.free)} are free${audited}`;
        output.result(done, [counts, ...done.warnings.map(renderWarning)].join('\n'));
        return EXIT.ok;
      }),
    );
}

/** The API counts no more than that. */
function inWords(free: number): string {
  return free < MOST_COUNTED ? String(free) : `${free} or more`;
}

function registerUsers(addresses: Command): void {
  addresses
    .command('assign')
    .description('the deposit address of a user; the same user has the same one for ever')
    .argument('<user>', 'your id of the user')
    .option(...JSON_OPTION)
    .action((user, options) =>
      run(options, async (output) => {
        const assigned = await connect().depositAddresses.assign(user);
        output.result(assigned, assigned.address);
        return EXIT.ok;
      }),
    );
  addresses
    .command('show')
    .description('a deposit address, and what is wrong with it')
    .argument('<address>', 'base58')
    .option(...JSON_OPTION)
    .action((address, options) =>
      run(options, async (output) => {
        const shown = await connect().depositAddresses.get(address);
        output.result(shown, renderAddress(shown));
        return EXIT.ok;
      }),
    );
}

function registerRelease(addresses: Command): void {
  addresses
    .command('release')
    .description(
      'give out again what was kept back since the record was restored: only if no user was given one after the backup',
    )
    .argument(...WHY_ARGUMENT)
    .option(...JSON_OPTION)
    .action((why, options) =>
      run(options, async (output) => {
        const done = await connect().depositAddresses.release(why);
        output.result(done, `${done.released} released; ${inWords(done.free)} are free`);
        return EXIT.ok;
      }),
    );
}

function registerGenerate(addresses: Command): void {
  addresses
    .command('generate')
    .description(
      'offline: derive wallets (BIP-39, SLIP-0010) and write their signed manifest; nothing is sent anywhere',
    )
    .requiredOption('--count <count>', 'how many', positive)
    .requiredOption('--out <file>', 'where the manifest goes; never overwritten')
    .option('--start <index>', "the first i of m/44'/501'/i'/0'", notNegative, 0)
    .option(
      '--mnemonic-file <file>',
      'English BIP-39 words; without it, new ones are written beside the manifest',
    )
    .option(...JSON_AND_PROGRESS_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const made = await generate(options, output);
        output.result(
          made,
          [
            `${made.count} addresses in ${made.manifest}, from ${made.first}`,
            `let the API take no others: SLUICE_ADDRESS_MANIFEST_KEY=${made.manifestKey}`,
          ].join('\n'),
        );
        return EXIT.ok;
      }),
    );
}

/** What the file says, where it is a list with a signature; the API is the judge of it. */
async function readManifest(file: string): Promise<AddressManifest> {
  const manifest: unknown = await readFile(file, 'utf8')
    .then(JSON.parse)
    .catch(() => {
      throw new UsageError(`no manifest can be read from ${file}`);
    });
  if (!isManifest(manifest)) throw new UsageError(`${file} is no manifest of addresses`);
  return manifest;
}

function isManifest(content: unknown): content is AddressManifest {
  return typeof content === 'object' && content !== null && 'entries' in content && 'signature' in content;
}

const STATE_IN_WORDS: Readonly<Partial<Record<DepositAddress['state'], string>>> = {
  used: 'used (it was paid before anybody had it: never given out)',
};

function renderAddress({ address, state, userRef, path, since, warnings }: DepositAddress): string {
  const whose = userRef === null ? (STATE_IN_WORDS[state] ?? state) : `${state} to ${userRef}`;
  const audit = since === null ? '' : `  ${state === 'auditing' ? 'to be ' : ''}audited from slot ${since}`;
  return [`${address}  ${whose}  ${path}${audit}`, ...warnings.map(renderWarning)].join('\n');
}

function renderWarning({ message }: Warning): string {
  return `warning: ${message}`;
}
