import { historyPage } from '../../solana/history/pages.ts';
import { isSignature } from '../../solana/rpc/node-text.ts';
import { answersIn } from '../../solana/rpc/quorum.ts';
import { storeFindings } from '../backfill/audit-one-address.ts';
import { agreedTransaction, type MatchedTransaction } from '../credits/agreed-transaction.ts';
import type { ComparisonDeps } from './compare-wallets.ts';
import type { Comparison } from './expected-balances.ts';

const PAGE_SIGNATURES = 1_000;
/** Maximum transactions that one pass reads for each account. Dust from strangers can only cause more passes. */
const MAX_TRANSACTIONS_PER_ACCOUNT = 100;

/**
 * Records incoming transfers to token accounts whose owner is itself a token account of the wallet, if a quorum agrees
 * on them. Transactions that are already recorded are not fetched again.
 */
export async function recordNested(
  deps: ComparisonDeps,
  { wallet, slot, nested }: Comparison,
): Promise<void> {
  if (nested.length === 0) return;
  const { ledger, pool, matcher } = deps;
  const recorded = await ledger.movements.inflowsOf(wallet, 0n, slot);
  const match = await matcher.transactionMatcher();
  const transactions: MatchedTransaction[] = [];
  for (const { account } of nested) {
    const recordedSignatures = new Set(
      recorded.filter((one) => one.account === account).map(({ signature }) => signature),
    );
    const answers = await pool.all((node) => historyPage(node, account, null, PAGE_SIGNATURES));
    const listed = answersIn(answers).flatMap(({ answer }) =>
      (answer?.entries ?? []).map(({ signature }) => signature),
    );
    const unread = [...new Set(listed)].filter((one) => isSignature(one) && !recordedSignatures.has(one));
    for (const signature of unread.slice(0, MAX_TRANSACTIONS_PER_ACCOUNT)) {
      const agreed = await agreedTransaction(pool, signature, (one) => match(one, [wallet]));
      if (agreed !== null) transactions.push(withNestedInflowsOnly(agreed.answer));
    }
  }
  await storeFindings(deps, transactions);
}

/** The transaction with its nested inflows only, because the scan finds its other movements. */
function withNestedInflowsOnly({ finding, ...block }: MatchedTransaction): MatchedTransaction {
  const inflows = finding.inflows.filter(({ reason }) => reason === 'nested_token_account');
  return { ...block, finding: { inflows, outflows: [], spends: [] } };
}
