import type { Command } from '@commander-js/extra-typings';
import { VERSION } from '../platform/version.ts';
import { registerAddresses } from './addresses.ts';
import { registerAlerts } from './alerts.ts';
import { registerAssets } from './assets.ts';
import { registerBackfills } from './backfills.ts';
import { registerDeposits } from './deposits.ts';
import { EXIT_MEANINGS } from './exit.ts';
import { registerKeys } from './keys.ts';
import { registerNodes } from './nodes.ts';
import { registerNonces } from './nonces.ts';
import { registerPayments } from './payments.ts';
import { createProgram } from './program.ts';
import { registerReconciliation } from './reconciliation.ts';
import { registerRoutes } from './routes.ts';
import { registerScan } from './scan.ts';
import { registerSettlements } from './settlements.ts';
import { registerWebhooks } from './webhooks.ts';
import { registerWithdrawals } from './withdrawals.ts';
import { registerX402 } from './x402.ts';

const HELP = `
With -o json, progress goes to stderr, and the last line of stdout is one JSON object. A failure has "ok": false and "error".

Settings that are not set are read from .sluice/dev.json of a running "npm run dev" in the same directory.
"nonces create" and "nonces advance" also need TEMPORAL_ADDRESS. "addresses generate" works offline.
"settlements pause", "settlements resume" and "alerts" take --database to work while the API is down.

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `${code.padStart(5)}  ${meaning}`)
  .join('\n')}`;

/** The complete command line `sluice`. `addToX402` adds commands to `sluice x402`. */
export function sluiceProgram(addToX402: (x402: Command) => void = () => undefined): Command {
  const program = createProgram('sluice', 'Durable deposits and withdrawals on Solana')
    .version(VERSION, '-v, --version', 'Print the version')
    .addHelpText('after', HELP);
  // Each command belongs to the group that names its dependencies.
  group(
    program,
    'Needs the API (--url or SLUICE_API_URL, --api-key or SLUICE_API_KEY)',
    registerWithdrawals,
    registerDeposits,
    registerAddresses,
    registerAssets,
    registerPayments,
    registerRoutes,
    registerSettlements,
    registerAlerts,
    registerScan,
    registerBackfills,
    registerReconciliation,
    registerWebhooks,
  );
  group(program, 'Needs PostgreSQL (DATABASE_URL)', registerKeys, registerNonces);
  group(program, 'Needs the Solana nodes (SLUICE_RPC_URLS)', registerNodes);
  group(program, 'Needs a local file or a URL, named by an argument or a setting', (to) =>
    registerX402(to, addToX402),
  );
  return program;
}

/** Registers commands under one heading of the help. The help of each of them ends with the same heading. */
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
