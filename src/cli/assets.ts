import { type Command, Option } from '@commander-js/extra-typings';
import type { Asset } from '../client/client.ts';
import { formatUnits } from '../domain/amount.ts';
import { toUnits } from './amounts.ts';
import { apiCommand, type Columns, call, table } from './command.ts';
import { UsageError } from './exit.ts';

const COLUMNS: Columns<Asset> = {
  asset: ({ asset }) => asset,
  decimals: ({ decimals }) => String(decimals),
  'minimum deposit': ({ minimumDeposit, decimals }) => formatUnits(BigInt(minimumDeposit), decimals),
  deposits: ({ depositsOn }) => (depositsOn ? 'on' : 'off'),
  program: ({ program }) => program ?? '',
};

export function registerAssets(program: Command): void {
  const assets = program.command('assets').description('List assets, and change which deposits are credited');
  apiCommand(assets, 'list', 'List the assets with their minimum deposits').action((options) =>
    call(
      options,
      async (sluice) => ({ assets: await sluice.assets.list() }),
      (answer) => render(answer.assets),
    ),
  );
  apiCommand(
    assets,
    'set',
    'Add an asset to the list, or change it; program, decimals and extensions come from the chain',
  )
    .argument('<asset>', 'SOL, or the address of a mint')
    .option(
      '--minimum <amount>',
      'Minimum deposit as a decimal amount, such as 1.5; the asset must be listed already',
    )
    .option('--minimum-units <units>', 'Minimum deposit in base units, instead of --minimum')
    .addOption(new Option('--deposits <on|off>', 'Whether deposits are credited').choices(['on', 'off']))
    .option(
      '--accept-transfer-hook',
      'Credit deposits of a token with a transfer hook, although Sluice cannot pay that token out',
    )
    .action((asset, options) =>
      call(
        options,
        async (sluice) => {
          const { minimum, minimumUnits, deposits, acceptTransferHook } = options;
          if (minimum !== undefined && minimumUnits !== undefined)
            throw new UsageError('give either --minimum or --minimum-units, not both');
          const minimumDeposit =
            minimum === undefined
              ? minimumUnits
              : await toUnits({ amount: minimum, asset, option: '--minimum' }, options);
          const depositsOn = deposits === undefined ? undefined : deposits === 'on';
          return sluice.assets.put(asset, { minimumDeposit, depositsOn, acceptTransferHook });
        },
        (changed) => render([changed]),
      ),
    );
}

function render(assets: readonly Asset[]): string {
  const warnings = assets.flatMap(({ asset, warnings: found }) =>
    found.map(({ message }) => `warning: ${asset}: ${message}`),
  );
  return [table('assets', COLUMNS, assets), ...warnings].join('\n');
}
