#!/usr/bin/env node
import { Command } from '@commander-js/extra-typings';
import { registerCancel } from './cli/cancel.ts';
import { registerConfirm } from './cli/confirm.ts';
import { registerDemo } from './cli/demo.ts';
import { registerDev } from './cli/dev.ts';
import { EXIT } from './cli/exit.ts';
import { registerKeys } from './cli/keys.ts';
import { registerList } from './cli/list.ts';
import { registerStatus } from './cli/status.ts';
import { registerWithdraw } from './cli/withdraw.ts';

const program = new Command('sluice')
  .description('Durable withdrawals on Solana')
  .exitOverride()
  .addHelpText(
    'after',
    `
Reads SLUICE_API_URL and SLUICE_API_KEY, else .sluice/dev.json of a running "npm run dev".

Exit codes: ${Object.entries(EXIT)
      .map(([name, code]) => `${code} ${name}`)
      .join(', ')}`,
  );

// One register function a command file: a new command is one line here.
registerWithdraw(program);
registerStatus(program);
registerList(program);
registerConfirm(program);
registerCancel(program);
registerKeys(program);
registerDev(program);
registerDemo(program);

try {
  await program.parseAsync();
} catch (error) {
  // Commander has already said what is wrong; `--help` ends here too, with 0.
  if (!(error instanceof Error) || !('exitCode' in error)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
