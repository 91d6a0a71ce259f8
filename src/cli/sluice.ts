import type { Command } from '@commander-js/extra-typings';
import { registerAddresses } from './addresses.ts';
import { registerAlerts } from './alerts.ts';
import { registerAssets } from './assets.ts';
import { registerAudit } from './audit.ts';
import { registerCluster } from './cluster.ts';
import { registerDeposits } from './deposits.ts';
import { EXIT_MEANINGS } from './exit.ts';
import { registerExplain } from './explain.ts';
import { registerKeys } from './keys.ts';
import { registerList } from './list.ts';
import { registerNodes } from './nodes.ts';
import { registerNonces } from './nonces.ts';
import { registerOneWithdrawal } from './one-withdrawal.ts';
import { registerPause } from './pause.ts';
import { createProgram } from './program.ts';
import { registerReconciliation } from './reconciliation.ts';
import { registerScan } from './scan.ts';
import { registerSettlements } from './settlements.ts';
import { registerWebhooks } from './webhooks.ts';
import { registerWithdraw } from './withdraw.ts';
import { registerX402 } from './x402.ts';

const HELP = `
An amount is in base units: 1500000000 is 1.5 SOL. With --json, progress goes to stderr, and the last line of
stdout is one JSON object, with "ok": false and "error" for a failure.

What is not set comes from .sluice/dev.json of a running "npm run dev" in the same folder. "addresses generate"
needs nothing; "nonces create" and "nonces advance" need TEMPORAL_ADDRESS, too.

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `${code.padStart(5)}  ${meaning}`)
  .join('\n')}`;

/** The whole command line `sluice`, ready to parse arguments. */
export function sluiceProgram(): Command {
  const program = createProgram('sluice', 'Durable deposits and withdrawals on Solana').addHelpText(
    'after',
    HELP,
  );
  // Each file has one register function. A new command adds it to the group of what the command needs.
  group(
    program,
    'Needs the API (SLUICE_API_URL, SLUICE_API_KEY)',
    registerWithdraw,
    registerOneWithdrawal,
    registerExplain,
    registerList,
    registerSettlements,
    registerAddresses,
    registerDeposits,
    registerAssets,
    registerScan,
    registerAudit,
    registerReconciliation,
    registerWebhooks,
  );
  group(
    program,
    'Needs PostgreSQL (DATABASE_URL), and works while the API is down',
    registerAlerts,
    registerPause,
    registerKeys,
    registerCluster,
    registerNonces,
  );
  group(program, 'Needs the Solana nodes (SLUICE_RPC_URLS)', registerNodes);
  group(program, 'Needs a routes file', registerX402);
  return program;
}

/** Registers commands under one heading of the help. The help of each command ends with the same heading. */
export function group(
  program: Command,
  needs: string,
  ...registrations: readonly ((to: Command) => void)[]
): void {
  program.commandsGroup(`${needs}:`);
  const before = program.commands.length;
  for (const register of registrations) register(program);
  for (const command of program.commands.slice(before)) command.addHelpText('after', `\n${needs}.`);
}
