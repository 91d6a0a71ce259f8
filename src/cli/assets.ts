import type { Command } from '@commander-js/extra-typings';
import type { Asset } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';

/** `sluice assets` and `sluice assets put`: what may be deposited. */
export function registerAssets(program: Command): void {
  const assets = program
    .command('assets')
    .description('list what may be deposited')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const listed = await connect().assets.list();
        output.result({ assets: listed }, renderAssets(listed));
        return EXIT.ok;
      }),
    );
  assets
    .command('put')
    .description('list an asset, or change it; program, decimals and extensions are read from the chain')
    .argument('<asset>', 'SOL, or the address of a mint')
    .option('--minimum <units>', 'base units; less than that is not credited')
    .option('--deposits <on|off>', 'whether deposits are credited')
    .option('--accept-transfer-hook', 'take deposits of a token with a transfer hook that is not paid out')
    .action((asset, { minimum, deposits, acceptTransferHook }) =>
      run(assets.opts(), async (output) => {
        const change = {
          ...(minimum === undefined ? {} : { minimumDeposit: minimum }),
          ...(deposits === undefined ? {} : { depositsOn: isOn(deposits) }),
          ...(acceptTransferHook === undefined ? {} : { acceptTransferHook }),
        };
        const put = await connect().assets.put(asset, change);
        output.result(put, renderAssets([put]));
        return EXIT.ok;
      }),
    );
}

function isOn(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError('--deposits is on or off');
  return text === 'on';
}

function renderAssets(assets: readonly Asset[]): string {
  const rows = assets.map(({ asset, decimals, minimumDeposit, depositsOn, program }) => [
    asset,
    String(decimals),
    minimumDeposit,
    depositsOn ? 'on' : 'off',
    program ?? '',
  ]);
  const warnings = assets.flatMap(({ asset, warnings: found }) =>
    found.map(({ message }) => `warning: ${asset}: ${message}`),
  );
  return [
    ...inColumns([['asset', 'decimals', 'minimum (base units)', 'deposits', 'program'], ...rows]),
    ...warnings,
  ].join('\n');
}
