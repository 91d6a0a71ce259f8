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
  const assets = program.command('assets').description('List assets, and change what may be deposited');
  apiCommand(assets, 'list', 'List the assets that may be deposited').action((options) =>
    call(
      options,
      async (sluice) => ({ assets: await sluice.assets.list() }),
      (answer) => render(answer.assets),
    ),
  );
  apiCommand(
    assets,
    'set',
    'List an asset, or change it; program, decimals and extensions come from the chain',
  )
    .argument('<asset>', 'SOL, or the address of a mint')
    .option('--minimum <amount>', 'Minimum deposit to credit, as a decimal of a listed asset')
    .option('--minimum-units <units>', 'Minimum deposit in base units, instead of --minimum')
    .addOption(new Option('--deposits <on|off>', 'Whether deposits are credited').choices(['on', 'off']))
    .option('--accept-transfer-hook', 'Credit a token whose transfer hook Sluice does not pay out')
    .action((asset, options) =>
      call(
        options,
        async (sluice) => {
          const { minimum, minimumUnits, deposits, acceptTransferHook } = options;
          if (minimum !== undefined && minimumUnits !== undefined)
            throw new UsageError('give either --minimum or --minimum-units, not both');
          const minimumDeposit =
            minimum === undefined ? minimumUnits : await toUnits(minimum, asset, '--minimum', options);
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
