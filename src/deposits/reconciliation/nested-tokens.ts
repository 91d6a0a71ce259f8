import { historyPage } from '../../solana/history/pages.ts';
import { isSignature } from '../../solana/rpc/node-text.ts';
import { answersIn } from '../../solana/rpc/quorum.ts';
import { storeFindings } from '../backfill/audit-one-address.ts';
import { agreedTransaction, type MatchedTransaction } from '../credits/agreed-transaction.ts';
import type { ComparisonDeps } from './compare-wallets.ts';
import type { Comparison } from './expected-balances.ts';

const PAGE_SIGNATURES = 1_000;
/** Transactions read per wallet and pass. A stranger's dust only takes more passes. */
const MAX_TRANSACTIONS_PER_ACCOUNT = 100;

/**
 * Stores arrivals at token accounts that are owned by the wallet's token accounts, as a quorum agrees. Stored
 * transactions are not read again.
 */
export async function recordNested(
  deps: ComparisonDeps,
  { wallet, slot, nested }: Comparison,
): Promise<void> {
  if (nested.length === 0) return;
  const { ledger, pool, matcher } = deps;
  const recorded = await ledger.movements.arrivalsOf(wallet, 0n, slot);
  const match = await matcher.transactionMatcher();
  const found: MatchedTransaction[] = [];
  for (const { account } of nested) {
    const before = new Set(
      recorded.filter((one) => one.account === account).map(({ signature }) => signature),
    );
    const answers = await pool.all((node) => historyPage(node, account, null, PAGE_SIGNATURES));
    const listed = answersIn(answers).flatMap(({ answer }) =>
      (answer?.entries ?? []).map(({ signature }) => signature),
    );
    const unread = [...new Set(listed)].filter((one) => isSignature(one) && !before.has(one));
    for (const signature of unread.slice(0, MAX_TRANSACTIONS_PER_ACCOUNT)) {
      const agreed = await agreedTransaction(pool, signature, (one) => match(one, [wallet]));
      if (agreed !== null) found.push(withNestedInflowsOnly(agreed.answer));
    }
  }
  await storeFindings(deps, found);
}

/** The scan finds all other movements of these transactions. */
function withNestedInflowsOnly({ finding, ...shown }: MatchedTransaction): MatchedTransaction {
  const inflows = finding.inflows.filter(({ reason }) => reason === 'nested_token_account');
  return { ...shown, finding: { inflows, outflows: [], spends: [] } };
}
