#!/usr/bin/env node
import { registerAddresses } from './cli/addresses.ts';
import { registerAlerts } from './cli/alerts.ts';
import { registerAssets } from './cli/assets.ts';
import { registerAudit } from './cli/audit.ts';
import { registerCluster } from './cli/cluster.ts';
import { registerDemo } from './cli/demo.ts';
import { registerDeposits } from './cli/deposits.ts';
import { registerDev } from './cli/dev.ts';
import { EXIT_MEANINGS } from './cli/exit.ts';
import { registerExplain } from './cli/explain.ts';
import { registerKeys } from './cli/keys.ts';
import { registerList } from './cli/list.ts';
import { registerNodes } from './cli/nodes.ts';
import { registerNonces } from './cli/nonces.ts';
import { registerOneWithdrawal } from './cli/one-withdrawal.ts';
import { registerPause } from './cli/pause.ts';
import { createProgram, runProgram } from './cli/program.ts';
import { registerReconciliation } from './cli/reconciliation.ts';
import { registerScan } from './cli/scan.ts';
import { registerWebhooks } from './cli/webhooks.ts';
import { registerWithdraw } from './cli/withdraw.ts';

const program = createProgram('sluice', 'Durable deposits and withdrawals on Solana').addHelpText(
  'after',
  `
An amount is in base units: 1500000000 is 1.5 SOL. With --json, progress goes to stderr, and the last line of
stdout is one JSON object, with "ok": false and "error" for a failure.

What is not set comes from .sluice/dev.json of a running "npm run dev" in the same folder. "addresses generate"
needs nothing; "nonces create" and "nonces advance" need TEMPORAL_ADDRESS, too.

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `${code.padStart(5)}  ${meaning}`)
  .join('\n')}`,
);

// One register function a file: a new command is one word here, under what it needs.
group(
  'Needs the API (SLUICE_API_URL, SLUICE_API_KEY)',
  registerWithdraw,
  registerOneWithdrawal,
  registerExplain,
  registerList,
  registerAddresses,
  registerDeposits,
  registerAssets,
  registerScan,
  registerAudit,
  registerReconciliation,
  registerWebhooks,
);
group(
  'Needs PostgreSQL (DATABASE_URL), and works while the API is down',
  registerAlerts,
  registerPause,
  registerKeys,
  registerCluster,
  registerNonces,
);
group('Needs the Solana nodes (SLUICE_RPC_URLS)', registerNodes);
group('Needs nothing, and brings a stack of its own', registerDev, registerDemo);

await runProgram(program);

/** Commands under one heading of the help, which stands below the help of each of them, too. */
function group(needs: string, ...registrations: readonly ((to: typeof program) => void)[]): void {
  program.commandsGroup(`${needs}:`);
  const before = program.commands.length;
  for (const register of registrations) register(program);
  for (const command of program.commands.slice(before)) command.addHelpText('after', `\n${needs}.`);
}
