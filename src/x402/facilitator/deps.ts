import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ApiKeys } from '../../ledger/operations/api-keys.ts';
import type { Chain } from '../../solana/chain.ts';
import type { BudgetDeps } from '../budgets.ts';
import type { Network } from '../networks.ts';
import type { SettlementRuns } from '../record.ts';
import type { Limits } from '../terms.ts';
import type { TrialDeps } from '../trial.ts';
import type { RateLimit } from './rate-limit.ts';

export interface FacilitatorDeps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations' | 'attempts' | 'settlements'>;
  readonly chain: Chain;
  readonly blockhashes: TrialDeps['blockhashes'];
  readonly runs: SettlementRuns;
  readonly network: Network;
  /** Addresses of the fee payer keys. `/supported` returns the first. */
  readonly feePayers: readonly string[];
  /** Keys that valid quotes may still name. The x402 worker must have them too. */
  readonly retiredFeePayers: readonly string[];
  readonly limits: Limits;
  readonly budgets: BudgetDeps['budgets'];
  readonly tokenPolicy: TokenPolicy;
  /** Null: no API key is required. */
  readonly apiKeys: Pick<ApiKeys, 'holderOf'> | null;
  /** For each API key, or for each client address without one. Null: no limit. */
  readonly rateLimit: RateLimit | null;
  /** Maximum wait of `/settle`, in ms. Default 20,000. */
  readonly settleWithinMs?: number;
  /** Logs failures that responses do not describe. */
  readonly warn: (error: unknown, what: string) => void;
}
