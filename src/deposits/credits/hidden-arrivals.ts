import { type Arrived, differenceAlarm, differencesBetween } from '../../domain/audit.ts';
import { depositKey } from '../../domain/deposit.ts';
import { type AuditDeps, storeFindings } from '../backfill/audit-one-address.ts';
import type { MatchedTransaction } from './agreed-transaction.ts';

/**
 * Stores deposits of an agreed transaction that were absent from the scanned block. Each of them raises
 * `deposit_missed`. Deposits from before the wallet was watched are left to the audit of its import.
 */
export async function addHiddenDeposits(
  deps: Pick<AuditDeps, 'ledger' | 'matcher'>,
  recordedDeposits: readonly Omit<Arrived, 'amount'>[],
  { slot, time, finding }: MatchedTransaction,
): Promise<void> {
  const { ledger } = deps;
  const keys = new Set(recordedDeposits.map(depositKey));
  const otherInflows = finding.inflows.filter((inflow) => !keys.has(depositKey({ ...inflow, slot })));
  for (const wallet of new Set(otherInflows.map((inflow) => inflow.wallet))) {
    const watchedAfter = (await ledger.addresses.byAddress(wallet))?.watchedAfter ?? -1n;
    if (slot <= watchedAfter) continue;
    const inflows = otherInflows.filter((inflow) => inflow.wallet === wallet);
    const deposits = inflows.map((inflow) => ({ ...inflow, slot }));
    const before = await ledger.movements.inflowsOf(wallet, slot, slot);
    const recorded = new Set(before.map(depositKey));
    const missing = deposits.filter((one) => !recorded.has(depositKey(one)));
    if (missing.length === 0) continue;
    await storeFindings(deps, [{ slot, time, finding: { inflows, outflows: [], spends: [] } }]);
    const now = await ledger.movements.inflowsOf(wallet, slot, slot);
    for (const one of differencesBetween(missing, [], now)) await ledger.alerts.raise(differenceAlarm(one));
  }
}
