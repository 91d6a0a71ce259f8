import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

export interface FeePayerWatchDeps {
  readonly ledger: Pick<Ledger, 'alerts'>;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly addresses: readonly string[];
  /** Balance below which a fee payer has an open alert. */
  readonly lowLamports: bigint;
}

const ALERT_KIND = 'fee_payer_low';

/** Returns a check, for periodic calls, that keeps an alert open for each fee payer with a low balance. */
export function feePayerWatch(deps: FeePayerWatchDeps): () => Promise<void> {
  const { chain, addresses, lowLamports, ledger } = deps;
  /**
   * Fee payers with a low balance at the last check. An alert needs two checks, so that incoming funds can finalize.
   */
  const lowAddresses = new Set<string>();
  return async () => {
    const { accounts } = await chain.accounts(addresses);
    for (const [index, subject] of addresses.entries()) {
      const lamports = accounts[index]?.lamports ?? 0n;
      const message = `fee payer ${subject} has ${lamports} lamports left: send it SOL before x402 sales stop`;
      if (lamports >= lowLamports) {
        lowAddresses.delete(subject);
        await ledger.alerts.close(ALERT_KIND, subject);
      } else if (lowAddresses.has(subject)) await ledger.alerts.raise({ kind: ALERT_KIND, subject, message });
      else lowAddresses.add(subject);
    }
  };
}
