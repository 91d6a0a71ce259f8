import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

export interface FeePayerWatchDeps {
  readonly ledger: Pick<Ledger, 'alerts'>;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly addresses: readonly string[];
  /** The alert is open while a wallet has less than this. */
  readonly lowLamports: bigint;
}

const KIND = 'fee_payer_low';

/** Returns a check that keeps an alert open for each fee payer with a low balance: without it nothing can be sold. */
export function feePayerWatch(deps: FeePayerWatchDeps): () => Promise<void> {
  const { chain, addresses, lowLamports, ledger } = deps;
  /** Low at the last check. The alert needs two checks, because incoming funds may not be final at the first one. */
  const low = new Set<string>();
  return async () => {
    const { accounts } = await chain.accounts(addresses);
    for (const [index, subject] of addresses.entries()) {
      const lamports = accounts[index]?.lamports ?? 0n;
      const message = `fee payer ${subject} has ${lamports} lamports left: send it SOL, or nothing is sold`;
      if (lamports >= lowLamports) {
        low.delete(subject);
        await ledger.alerts.close(KIND, subject);
      } else if (low.has(subject)) await ledger.alerts.raise({ kind: KIND, subject, message });
      else low.add(subject);
    }
  };
}
