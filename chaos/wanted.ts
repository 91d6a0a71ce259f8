import { newWallet } from '../devkit/localnet/wallet.ts';
import type { WithdrawalTerms } from '../src/client/client.ts';
import { type FaultName, SEND_FAULTS } from './kinds.ts';
import type { Injection } from './schedule.ts';

/** The mints that can be paid, each of its own kind, and wallets that hold something already. */
export interface ChaosMarket {
  /** Of the Token program. */
  readonly mint: string;
  /** Of Token-2022, with a transfer fee. */
  readonly feeMint: string;
  /** Of Token-2022; its issuer can pause it. */
  readonly pausableMint: string;
  readonly wallets: readonly string[];
}

export type OrderTerms = Pick<WithdrawalTerms, 'asset' | 'destination'>;

/** An order that must be on its way at a moment, in milliseconds after the start, since a fault shows nothing without it. */
export interface Wanted {
  readonly atMs: number;
  /** Default: any. */
  readonly asset?: 'mint' | 'feeMint' | 'pausableMint';
  /** To a wallet that has nothing yet. */
  readonly toNewWallet?: true;
  /** Characters of a memo. The compute units of a message of a new length are not known yet. */
  readonly memo?: number;
}

/** The withdrawals that each fault needs, by moment. */
export function wantedBy(schedule: readonly Injection[]): readonly Wanted[] {
  return schedule.flatMap((injection, index) => NEEDS[injection.kind]?.(injection, index) ?? []);
}

const BEFORE_STOP_MS = 300;
const STRANGERS_TAKE_MS = 3_000;
const LIARS_TAKE_MS = 2_000;
const APART_MS = 1_000;

type WantedFor = (injection: Injection, index: number) => readonly Wanted[];

const sends: WantedFor = ({ atMs, untilMs }) => [{ atMs }, { atMs: Math.round((atMs + untilMs) / 2) }];

const NEEDS: Partial<Record<FaultName, WantedFor>> = {
  ...Object.fromEntries(SEND_FAULTS.map((kind) => [kind, sends])),
  stranger_funds_ata: ({ atMs }) => [
    { atMs: atMs + STRANGERS_TAKE_MS, asset: 'mint', toNewWallet: true },
    { atMs: atMs + STRANGERS_TAKE_MS + APART_MS, asset: 'feeMint', toNewWallet: true },
  ],
  node_false_account: ({ atMs }) => [
    { atMs: atMs + LIARS_TAKE_MS, asset: 'mint', toNewWallet: true },
    { atMs: atMs + LIARS_TAKE_MS + APART_MS, asset: 'feeMint' },
    { atMs: atMs + LIARS_TAKE_MS + 2 * APART_MS, asset: 'pausableMint', toNewWallet: true },
  ],
  node_false_price: ({ atMs }, index) => [
    { atMs: atMs + LIARS_TAKE_MS, memo: 1 + 3 * (index % 20) },
    { atMs: atMs + LIARS_TAKE_MS + 2 * APART_MS, asset: 'mint', memo: 2 + 3 * (index % 20) },
    { atMs: atMs + LIARS_TAKE_MS + 4 * APART_MS, asset: 'feeMint', memo: 3 + 3 * (index % 20) },
  ],
  node_false_status: ({ atMs, untilMs }) => [
    { atMs },
    { atMs: atMs + LIARS_TAKE_MS },
    { atMs: Math.round((atMs + untilMs) / 2) },
  ],
  issuer_freezes: ({ atMs }) => [
    { atMs: atMs + BEFORE_STOP_MS, asset: 'mint' },
    { atMs: atMs + BEFORE_STOP_MS, asset: 'pausableMint' },
  ],
};

/** The terms as they are wanted, for the same amount. */
export function asWanted(
  terms: WithdrawalTerms,
  { asset, toNewWallet, memo }: Wanted,
  market: ChaosMarket,
): WithdrawalTerms {
  return {
    ...terms,
    ...(asset === undefined ? {} : { asset: market[asset] }),
    ...(toNewWallet === undefined ? {} : { destination: newWallet().address }),
    ...(memo === undefined ? {} : { memo: 'm'.repeat(memo) }),
  };
}

/** Those of tokens. */
export function tokenOrders<T extends OrderTerms>(all: readonly T[]): readonly T[] {
  return all.filter(({ asset }) => asset !== 'SOL');
}
