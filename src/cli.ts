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

Reads SLUICE_API_URL and SLUICE_API_KEY, else .sluice/dev.json of a running "npm run dev".

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `${code.padStart(5)}  ${meaning}`)
  .join('\n')}`,
);

// One register function a file: a new command is one line here.
registerWithdraw(program);
registerOneWithdrawal(program);
registerExplain(program);
registerList(program);
registerAddresses(program);
registerDeposits(program);
registerAssets(program);
registerScan(program);
registerAudit(program);
registerReconciliation(program);
registerAlerts(program);
registerPause(program);
registerKeys(program);
registerNodes(program);
registerCluster(program);
registerNonces(program);
registerWebhooks(program);
registerDev(program);
registerDemo(program);

await runProgram(program);
