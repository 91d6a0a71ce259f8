import type { WatchKind } from '../domain/deposit.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { TokenHold } from '../domain/token-holds.ts';
import type { TokenPolicy } from '../domain/token-rules.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import { classifyDestination } from '../solana/addresses.ts';
import { ataRent, deriveAta } from '../solana/ata.ts';
import { type Chain, lowestSlot, type ShownAccount } from '../solana/chain.ts';
import type { DraftBasis } from '../solana/compute-limit.ts';
import { resolveHookAccounts } from '../solana/hooks.ts';
import { type MintInfo, readMint } from '../solana/mint.ts';
import type { AccountInfo } from '../solana/rpc/schemas.ts';
import { readTokenAccount } from '../solana/token-account.ts';
import { tokenPolicy } from '../solana/token-policy.ts';
import type { TokenTransfer } from '../solana/transactions.ts';
import { transferFee } from '../solana/transfer-fee.ts';
import { readTwice } from './second-look.ts';

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
  /**
   * What an address is to us beside the hot wallet: one that paid before, a nonce account, a deposit address. Default: none is anything.
   */
  readonly kindOf?: (address: string) => Promise<WatchKind | undefined>;
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
  const [destination, hot, mint] = await Promise.all([
    chain.account(row.destination),
    chain.account(rules.hotWallet),
    row.asset === 'SOL' ? null : chain.account(row.asset),
  ]);
  const slot = lowestSlot(mint === null ? [destination, hot] : [destination, hot, mint]);
  const refusal = await destinationRefusal(chain, rules, row, destination);
  if (refusal !== null) return refusal;
  const token = mint === null ? null : await readTokenSide(chain, rules, row, mint);
  if (token !== null && 'reason' in token) return token;
  const [oldest, newest] =
    token === null || token.slot > slot ? [slot, token?.slot ?? slot] : [token.slot, slot];
  return {
    kind: 'payable',
    slot: oldest,
    basis: { slot: newest, ataFunded: token?.ataFunded ?? false },
    hotLamports: hot.account?.lamports ?? 0n,
    token: token?.side ?? null,
  };
}

async function destinationRefusal(
  chain: Chain,
  rules: PayeeRules,
  row: WithdrawalRow,
  shown: ShownAccount,
): Promise<Refusal | null> {
  const own = row.destination === rules.hotWallet ? 'hot' : await rules.kindOf?.(row.destination);
  const destination = await readTwice(
    chain,
    [shown],
    ([account = null]) => classifyDestination(row.destination, account, own),
    ({ kind }) => DOUBTS[kind],
  );
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

const DOUBTS = { wallet: 'sure', empty: 'doubtful', rejected: 'refused' } as const;

async function readTokenSide(
  chain: Chain,
  rules: PayeeRules,
  row: WithdrawalRow,
  shownMint: ShownAccount,
): Promise<{ readonly slot: bigint; readonly ataFunded: boolean; readonly side: TokenSide } | Refusal> {
  const mintOf = (account: AccountInfo | null) => readMint(row.asset, account);
  const mint = await readTwice(
    chain,
    [shownMint],
    ([account = null]) => mintOf(account),
    () => 'sure',
  );
  const to = deriveAta(row.destination, mint.address, mint.program);
  const from = deriveAta(rules.hotWallet, mint.address, mint.program);
  const [toShown, fromShown] = await Promise.all([chain.account(to), chain.account(from)]);
  const verdict = await readTwice(
    chain,
    [shownMint, toShown],
    ([mint = null, account = null]) =>
      tokenPolicy(mintOf(mint), readTokenAccount(to, account), row.destination, rules.tokenPolicy),
    (one) => (one.ok || one.mayPass ? 'sure' : 'refused'),
  );
  if (!verdict.ok) return verdict.mayPass ? hold(verdict.reason) : refused(verdict.reason);
  const source = readTokenAccount(from, fromShown.account);
  if (source?.frozen === true) return hold(hotAccountFrozen(mint.address, from));
  const { createAta, memoRequired } = verdict;
  return {
    slot: lowestSlot([toShown, fromShown]),
    ataFunded: createAta && (toShown.account?.lamports ?? 0n) > 0n,
    side: {
      transfer: await tokenTransfer(chain, rules, row, mint, createAta),
      hotAmount: source?.amount ?? 0n,
      rentLamports: createAta ? ataRent(toShown.account, await chain.rentMinimum(mint.ataSize)) : 0n,
      memoRequired,
    },
  };
}

async function tokenTransfer(
  chain: Chain,
  { hotWallet }: PayeeRules,
  { amount, destination }: WithdrawalRow,
  mint: MintInfo,
  createAta: boolean,
): Promise<TokenTransfer> {
  const { address, program, decimals } = mint;
  const expectedFee = mint.transferFee === null ? null : transferFee(mint, amount, await chain.epoch());
  const hooked = { source: hotWallet, destination, amount, createAta };
  const hookAccounts = await resolveHookAccounts(chain, mint, hooked);
  return { mint: address, program, decimals, createAta, expectedFee, hookAccounts };
}

function refused(reason: StatusReason): Refusal {
  return { kind: 'rejected', reason };
}

/** The issuer can end it, and no node's word ends the withdrawal. */
function hold(reason: StatusReason): Refusal {
  return { kind: 'held', reason };
}

function hotAccountFrozen(mint: string, account: string): StatusReason {
  const code: TokenHold = 'hot_account_frozen';
  return { code, message: `the issuer of ${mint} has frozen ${account}, the hot wallet's token account` };
}

function wait(code: string, message: string): Refusal {
  return { kind: 'awaiting_confirmation', reason: { code, message } };
}
