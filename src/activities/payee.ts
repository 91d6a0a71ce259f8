import type { TokenPolicy } from '../domain/token-rules.ts';
import type { StatusReason } from '../domain/withdrawal.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import { classifyDestination } from '../solana/addresses.ts';
import { ataRent, deriveAta } from '../solana/ata.ts';
import type { Chain } from '../solana/chain.ts';
import type { DraftBasis } from '../solana/compute-limit.ts';
import { resolveHookAccounts } from '../solana/hooks.ts';
import { type MintInfo, readMint } from '../solana/mint.ts';
import type { AccountInfo } from '../solana/rpc/schemas.ts';
import { readTokenAccount } from '../solana/token-account.ts';
import { tokenPolicy } from '../solana/token-policy.ts';
import type { TokenTransfer } from '../solana/transactions.ts';
import { transferFee } from '../solana/transfer-fee.ts';

/** Why an attempt cannot be composed now, and the state that this puts the withdrawal in. */
export interface Refusal {
  readonly kind: 'rejected' | 'awaiting_confirmation' | 'awaiting_funds';
  readonly reason: StatusReason;
}

/** The token side of a payable withdrawal. */
export interface TokenSide {
  readonly transfer: TokenTransfer;
  /** What the hot wallet holds of it, finalized. */
  readonly hotAmount: bigint;
  readonly rentLamports: bigint;
  readonly memoRequired: boolean;
}

/** Both sides of a payable withdrawal, read at finalized slot `slot` or later. */
export interface Payee {
  readonly kind: 'payable';
  readonly slot: bigint;
  readonly basis: DraftBasis;
  readonly hotLamports: bigint;
  readonly token: TokenSide | null;
}

export interface PayeeRules {
  readonly hotWallet: string;
  /** Whether an address is one of ours beside the hot wallet: one that paid before, a nonce account. Default: none is. */
  readonly isOurs?: (address: string) => Promise<boolean>;
  /** Ask the customer also where the wallet is in use (exchange-interface: Withdrawal rules 3). */
  readonly confirmUsedWallet: boolean;
  readonly tokenPolicy: TokenPolicy;
}

/** May we pay this now? Reads the chain anew each time, so it holds at request and again just before signing. */
export async function readPayee(
  chain: Chain,
  rules: PayeeRules,
  row: WithdrawalRow,
): Promise<Payee | Refusal> {
  const wallets = row.asset === 'SOL' ? [rules.hotWallet] : [rules.hotWallet, row.asset];
  const { slot, accounts } = await chain.accounts([row.destination, ...wallets]);
  const [destination = null, hot = null, mint = null] = accounts;
  const ours = await ownAddresses(rules, row.destination);
  const refusal = destinationRefusal(rules, row, destination, ours);
  if (refusal !== null) return refusal;
  const token =
    row.asset === 'SOL' ? null : await readTokenSide(chain, rules, row, readMint(row.asset, mint));
  if (token !== null && 'reason' in token) return token;
  const [oldest, newest] =
    token === null || token.slot > slot ? [slot, token?.slot ?? slot] : [token.slot, slot];
  return {
    kind: 'payable',
    slot: oldest,
    basis: { slot: newest, ataFunded: token?.ataFunded ?? false },
    hotLamports: hot?.lamports ?? 0n,
    token: token?.side ?? null,
  };
}

async function ownAddresses({ hotWallet, isOurs }: PayeeRules, asked: string): Promise<ReadonlySet<string>> {
  return new Set((await isOurs?.(asked)) === true ? [hotWallet, asked] : [hotWallet]);
}

function destinationRefusal(
  rules: PayeeRules,
  row: WithdrawalRow,
  account: AccountInfo | null,
  ours: ReadonlySet<string>,
): Refusal | null {
  const destination = classifyDestination(row.destination, account, { ours });
  if (destination.kind === 'rejected') return refused(destination.reason);
  if (row.confirmedByCustomer) return null;
  if (destination.kind === 'empty' && !row.acceptEmptyWallet) {
    return wait(
      'empty_wallet',
      'the destination holds nothing yet: the customer must confirm that the address is right',
    );
  }
  if (destination.kind === 'wallet' && rules.confirmUsedWallet) {
    return wait('used_wallet', 'the destination is in use: policy wants the customer to confirm it');
  }
  return null;
}

async function readTokenSide(
  chain: Chain,
  rules: PayeeRules,
  row: WithdrawalRow,
  mint: MintInfo,
): Promise<{ readonly slot: bigint; readonly ataFunded: boolean; readonly side: TokenSide } | Refusal> {
  const to = deriveAta(row.destination, mint.address, mint.program);
  const from = deriveAta(rules.hotWallet, mint.address, mint.program);
  const { slot, accounts } = await chain.accounts([to, from]);
  const [toAccount = null, fromAccount = null] = accounts;
  const verdict = tokenPolicy(mint, readTokenAccount(to, toAccount), row.destination, rules.tokenPolicy);
  if (!verdict.ok) return refused(verdict.reason);
  const expectedFee = mint.transferFee === null ? null : transferFee(mint, row.amount, await chain.epoch());
  const rentLamports = verdict.createAta ? ataRent(toAccount, await chain.rentMinimum(mint.ataSize)) : 0n;
  const hookAccounts = await resolveHookAccounts(chain, mint, {
    source: rules.hotWallet,
    destination: row.destination,
    amount: row.amount,
    createAta: verdict.createAta,
  });
  const { address, program, decimals } = mint;
  const transfer = {
    mint: address,
    program,
    decimals,
    createAta: verdict.createAta,
    expectedFee,
    hookAccounts,
  };
  return {
    slot,
    ataFunded: verdict.createAta && (toAccount?.lamports ?? 0n) > 0n,
    side: {
      transfer,
      hotAmount: readTokenAccount(from, fromAccount)?.amount ?? 0n,
      rentLamports,
      memoRequired: verdict.memoRequired,
    },
  };
}

function refused(reason: StatusReason): Refusal {
  return { kind: 'rejected', reason };
}

function wait(code: string, message: string): Refusal {
  return { kind: 'awaiting_confirmation', reason: { code, message } };
}
