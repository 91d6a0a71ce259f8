import { historyPage } from '../../solana/history/pages.ts';
import { isSignature } from '../../solana/rpc/node-text.ts';
import { answersIn } from '../../solana/rpc/quorum.ts';
import { storeFindings } from '../backfill/audit-one-address.ts';
import { agreedTransaction, type JudgedTransaction } from '../credits/agreed-transaction.ts';
import type { LookDeps } from './compare-wallets.ts';
import type { Look } from './expected-balances.ts';

const LISTED = 1_000;
/** Transactions read per wallet and pass. A stranger's dust only takes more passes. */
const MAX_READ = 100;

/**
 * Stores arrivals at token accounts that are owned by the wallet's token accounts, as a quorum agrees. Stored
 * transactions are not read again.
 */
export async function recordNested(deps: LookDeps, { wallet, slot, nested }: Look): Promise<void> {
  if (nested.length === 0) return;
  const { ledger, pool, matcher } = deps;
  const recorded = await ledger.movements.inflowsOf(wallet, 0n, slot);
  const match = await matcher.judge();
  const found: JudgedTransaction[] = [];
  for (const { account } of nested) {
    const before = new Set(
      recorded.filter((one) => one.account === account).map(({ signature }) => signature),
    );
    const answers = await pool.all((node) => historyPage(node, account, null, LISTED));
    const listed = answersIn(answers).flatMap(({ answer }) =>
      (answer?.entries ?? []).map(({ signature }) => signature),
    );
    const unread = [...new Set(listed)].filter((one) => isSignature(one) && !before.has(one));
    for (const signature of unread.slice(0, MAX_READ)) {
      const agreed = await agreedTransaction(pool, signature, (one) => match(one, [wallet]));
      if (agreed !== null) found.push(onlyNested(agreed.answer));
    }
  }
  await storeFindings(deps, found);
}

/** The scan finds all other movements of these transactions. */
function onlyNested({ finding, ...shown }: JudgedTransaction): JudgedTransaction {
  const inflows = finding.inflows.filter(({ reason }) => reason === 'nested_token_account');
  return { ...shown, finding: { inflows, outflows: [], spends: [] } };
}
