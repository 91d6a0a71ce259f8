import type { Command } from '@commander-js/extra-typings';
import { generate } from './addresses/generate.ts';
import { EXIT } from './exit.ts';
import { notNegative, positive } from './numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from './output.ts';

/** `sluice addresses …`: the wallets of depositors, from the words that they come from to the user that has one. */
export function registerAddresses(program: Command): void {
  const addresses = program.command('addresses').description('deposit addresses: make, import and give out');
  registerGenerate(addresses);
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
