import { type ComparedTransfer, differenceAlarm, differencesBetween } from '../../domain/audit.ts';
import { depositKey } from '../../domain/deposit.ts';
import { type AuditDeps, storeFindings } from '../backfill/audit-one-address.ts';
import type { JudgedTransaction } from './agreed-transaction.ts';

/**
 * Stores arrivals of a transaction that the scanned node hid and a quorum shows. Each raises
 * `deposit_missed`. Arrivals from before the wallet was watched are left to its audit.
 */
export async function addHiddenArrivals(
  deps: Pick<AuditDeps, 'ledger' | 'matcher'>,
  known: readonly Omit<ComparedTransfer, 'amount'>[],
  { slot, time, finding }: JudgedTransaction,
): Promise<void> {
  const { ledger } = deps;
  const keys = new Set(known.map(depositKey));
  const others = finding.inflows.filter((inflow) => !keys.has(depositKey({ ...inflow, slot })));
  for (const wallet of new Set(others.map((inflow) => inflow.wallet))) {
    const watchedAfter = (await ledger.addresses.byAddress(wallet))?.watchedAfter ?? -1n;
    if (slot <= watchedAfter) continue;
    const inflows = others.filter((inflow) => inflow.wallet === wallet);
    const arrivals = inflows.map((inflow) => ({ ...inflow, slot }));
    const before = await ledger.movements.arrivalsOf(wallet, slot, slot);
    const recorded = new Set(before.map(depositKey));
    const missing = arrivals.filter((one) => !recorded.has(depositKey(one)));
    if (missing.length === 0) continue;
    await storeFindings(deps, [{ slot, time, finding: { inflows, outflows: [], spends: [] } }]);
    const now = await ledger.movements.arrivalsOf(wallet, slot, slot);
    for (const one of differencesBetween(missing, [], now)) await ledger.alerts.raise(differenceAlarm(one));
  }
}
