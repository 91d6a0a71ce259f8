import { createReconciliation } from '../../src/activities/reconciliation.ts';
import { DepositMatcher } from '../../src/deposits/scan/matcher.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { LedgerCompleteness } from '../../src/solana/history/ledger-completeness.ts';
import { WalletLists } from '../../src/solana/history/wallet-signatures.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { runActivity } from '../support/activity.ts';

// Compares wallets page by page, and kills itself right before or after the commit of its second page: <database> <before|after> <nodes…>
const [url = '', side = '', ...rpcUrls] = process.argv.slice(2);
const ledger = await openLedger(url);
const pool = await openNodePool(rpcUrls);
const options = {
  ownerChangeAllowed: false,
  maxTransactionVersion: 1,
  minimumLamports: async () => 890_880n,
};
const matcher = new DepositMatcher(ledger, options);

let commits = 0;
const { reconciliations } = ledger;
const commit = reconciliations.commit.bind(reconciliations);
reconciliations.commit = async (...page) => {
  commits += 1;
  if (commits < 2) return commit(...page);
  if (side === 'after') await commit(...page);
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
};
const [lists, completeness] = [new WalletLists(), new LedgerCompleteness()];
const deps = { ledger, pool, matcher, lists, completeness };
const activities = createReconciliation({ ...deps, maxWaitMs: 0, pageSize: 5 });
for (;;) await runActivity(() => activities.reconcilePage());
