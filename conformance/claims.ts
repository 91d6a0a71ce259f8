import { findingOfTransaction } from '../src/domain/credits.ts';
import type { ScannedTransaction } from '../src/domain/deposit.ts';
import { ALL_WALLETS } from './differences.ts';

/** Files of ledgers without owners of token accounts, or without token balances. The scan refuses them. */
export const EARLY: readonly string[] = [
  'blocks/block-110130000.json.gz',
  'blocks/block-100000000-excerpt-json.json',
  'blocks/block-100000000-excerpt-json-parsed.json',
  'transactions/tx-2020-three-early-transactions.json',
];

/** Files that show the same transactions in other encodings: their readings must be equal. */
export const SAME: readonly (readonly string[])[] = [
  [
    'blocks/block-147078735-devnet-json.json',
    'blocks/block-147078735-devnet-json-parsed.json',
    'blocks/block-147078735-devnet-base64.json',
  ],
  ['blocks/block-254170887-decoded.json.gz', 'blocks/block-254170887-base64.json.gz'],
  ['blocks/block-100000000-excerpt-json.json', 'blocks/block-100000000-excerpt-json-parsed.json'],
  [
    'transactions/tx-vote-devnet-json.json',
    'transactions/tx-vote-devnet-json-parsed.json',
    'transactions/tx-vote-devnet-base64.json',
  ],
];

/** What one recorded transaction must show, as the recorder described it. */
interface RecordedClaim {
  readonly file: string;
  readonly claim: string;
  readonly holds: (transaction: ScannedTransaction) => boolean;
}

export const CLAIMS: readonly RecordedClaim[] = [
  {
    file: 'transactions/tx-3oR9ryME-token-2022-transfer-fee.json',
    claim: 'a transfer fee of 15,360,000 is withheld: the receiver gets less than the sender loses',
    holds: (transaction) => {
      const { inflows, outflows } = findingOfTransaction(transaction, ALL_WALLETS);
      const lost = outflows.find(({ asset }) => asset !== 'SOL')?.amount ?? 0n;
      return lost - (inflows.find(({ asset }) => asset !== 'SOL')?.amount ?? 0n) === 15_360_000n;
    },
  },
  {
    file: 'transactions/tx-2iHLyJJN-owner-change.json',
    claim: 'an account that changed its owner arrives whole, and is not credited',
    holds: (transaction) => {
      const receiver = transaction.tokens[0]?.after?.owner;
      const { inflows } = findingOfTransaction(transaction, {
        ...ALL_WALLETS,
        kindOf: (address) => (address === receiver ? 'deposit' : undefined),
      });
      return inflows.length === 1 && inflows[0]?.reason === 'owner_changed' && inflows[0].amount === 1n;
    },
  },
  {
    file: 'transactions/tx-4iZxoW1D-token-account-closed.json',
    claim: 'a closed token account is an outflow of all its tokens',
    holds: (transaction) => {
      const { outflows } = findingOfTransaction(transaction, ALL_WALLETS);
      const closed = transaction.tokens.find(({ after }) => after === null);
      return outflows.some(
        ({ account, amount }) => account === closed?.account && amount === closed.before?.amount,
      );
    },
  },
  {
    file: 'transactions/tx-65MevEhH-usdc-sponsored-fee-payer.json',
    claim: 'a payment whose fee another wallet pays is not internal, even where that payer is ours',
    holds: (transaction) => {
      const payer = transaction.accounts[0]?.address;
      const receiver = transaction.tokens.find(
        ({ before, after }) => (after?.amount ?? 0n) > (before?.amount ?? 0n),
      )?.after?.owner;
      const { inflows } = findingOfTransaction(transaction, {
        ...ALL_WALLETS,
        kindOf: (address) => (address === payer ? 'hot' : address === receiver ? 'deposit' : undefined),
      });
      return inflows.length > 0 && inflows.every(({ reason }) => reason !== 'internal');
    },
  },
];
