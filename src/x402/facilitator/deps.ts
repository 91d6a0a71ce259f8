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
  /** Addresses of the keys that pay the fees. `/supported` publishes the first. */
  readonly feePayers: readonly string[];
  /** Keys that quotes may still name. They must be in the x402 worker, too. */
  readonly retiredFeePayers: readonly string[];
  readonly limits: Limits;
  readonly budgets: BudgetDeps['budgets'];
  readonly tokenPolicy: TokenPolicy;
  /** Null: callers need no API key. */
  readonly apiKeys: Pick<ApiKeys, 'holderOf'> | null;
  /** For each API key, or for each client address where the request has none. Null: no limit. */
  readonly rateLimit: RateLimit | null;
  /** The longest wait of `/settle`. Default 20,000. */
  readonly settleWithinMs?: number;
  /** Gets the failures that answers do not describe. */
  readonly warn: (error: unknown, what: string) => void;
}
