import type { WatchKind } from '../domain/deposit.ts';
import { SOL } from '../domain/deposit-asset.ts';
import type { StatusReason } from '../domain/settlement.ts';
import type { TokenPolicy } from '../domain/token-rules.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Refusal } from '../settlement/kind.ts';
import type { Chain } from '../solana/chain.ts';
import type { AccountView } from '../solana/rpc/agreed-accounts.ts';
import { type AccountAnswer, lowestSlot } from '../solana/rpc/agreed-accounts.ts';
import { classifyDestination, type Destination } from '../solana/tokens/addresses.ts';
import type { DraftBasis } from '../solana/tx/compute-limit.ts';
import { type ListedMint, readTokenSide, type TokenSide } from './token-side.ts';

/** What is needed to compose a payable withdrawal, read at finalized slot `slot` or later. */
export interface Payee {
  readonly kind: 'payable';
  readonly slot: bigint;
  readonly basis: DraftBasis;
  readonly hotLamports: bigint;
  /** True if the destination is off the ed25519 curve, so that a program signs for it. */
  readonly isVault: boolean;
  readonly token: TokenSide | null;
}

export interface PayeeRules {
  readonly hotWallet: string;
  /** How Sluice uses an address: as an earlier hot wallet, a nonce account or a deposit address. Default: no use. */
  readonly kindOf?: (address: string) => Promise<WatchKind | undefined>;
  /** The listed asset of a mint. Default: no mint is listed. */
  readonly listed?: (mint: string) => Promise<ListedMint | undefined>;
  /**
   * True if the customer must also confirm a wallet that exists on chain already (docs/interface.md, Withdrawal rules 3).
   */
  readonly confirmUsedWallet: boolean;
  /** True if a vault needs a confirmation by the customer instead of being rejected. Default: false. */
  readonly allowVaults?: boolean;
  readonly tokenPolicy: TokenPolicy;
}

/**
 * Checks whether the withdrawal can be paid now. Called for the request and before signing; reads the chain each
 * time. A quorum agrees on every input except balances.
 */
export async function readPayee(
  chain: Chain,
  rules: PayeeRules,
  row: WithdrawalRow,
): Promise<Payee | Refusal> {
  const isToken = row.asset !== SOL;
  const [ownUse, listed] = await Promise.all([
    row.destination === rules.hotWallet ? ('hot' as const) : rules.kindOf?.(row.destination),
    isToken ? rules.listed?.(row.asset) : undefined,
  ]);
  const read = async (view: AccountView): Promise<Payee | Refusal> => {
    const [destination, hot, mint] = await Promise.all([
      view.account(row.destination),
      view.account(rules.hotWallet),
      isToken ? view.account(row.asset) : null,
    ]);
    const { allowVaults = false } = rules;
    const payTo = classifyDestination(row.destination, destination.account, { own: ownUse, allowVaults });
    const refusal = destinationRefusal(rules, row, payTo);
    if (refusal !== null) return refusal;
    const isVault = payTo.kind === 'vault';
    const token = mint && (await readTokenSide({ chain, view, rules, row, isVault, listed }, mint));
    if (token !== null && 'reason' in token) return token;
    return payeeOf([destination, hot, mint], token, hot, isVault);
  };
  const knownAddresses = [row.destination, rules.hotWallet, ...(isToken ? [row.asset] : [])];
  return chain.agreedReading(knownAddresses, read, quorumInputs);
}

function payeeOf(
  accounts: readonly (AccountAnswer | null)[],
  token: Exclude<Awaited<ReturnType<typeof readTokenSide>>, Refusal> | null,
  hot: AccountAnswer,
  isVault: boolean,
): Payee {
  const slot = lowestSlot(accounts.filter((account) => account !== null));
  const [oldest, newest] =
    token === null || token.slot > slot ? [slot, token?.slot ?? slot] : [token.slot, slot];
  return {
    kind: 'payable',
    slot: oldest,
    basis: { slot: newest, ataFunded: token?.ataFunded ?? false },
    hotLamports: hot.account?.lamports ?? 0n,
    isVault,
    token: token?.side ?? null,
  };
}

/** Inputs that need a quorum. Balances and slots only decide when to pay, and never reject. */
function quorumInputs(payee: Payee | Refusal): unknown {
  if (payee.kind !== 'payable') return payee;
  const { isVault, basis, token } = payee;
  if (token === null) return { isVault };
  const { hotAmount: _, ...side } = token;
  return { isVault, ataFunded: basis.ataFunded, ...side };
}

function destinationRefusal(rules: PayeeRules, row: WithdrawalRow, destination: Destination): Refusal | null {
  if (destination.kind === 'rejected') return { kind: 'rejected', reason: destination.reason };
  if (row.confirmedByCustomer) return null;
  if (destination.kind === 'empty' && !row.acceptEmptyWallet) {
    return awaitConfirmation(
      'empty_wallet',
      'the destination is an empty wallet: the customer must confirm that the address is right',
    );
  }
  if (destination.kind === 'vault') {
    return awaitConfirmation(
      'vault',
      'the destination is an address for which a program signs, such as a multisig vault: the customer must confirm that the address is right',
    );
  }
  if (destination.kind === 'wallet' && rules.confirmUsedWallet) {
    return awaitConfirmation(
      'used_wallet',
      'the destination wallet exists on chain already: SLUICE_CONFIRM_USED_WALLET requires the customer to confirm it',
    );
  }
  return null;
}

function awaitConfirmation(code: string, message: string): Refusal {
  const reason: StatusReason = { code, message };
  return { kind: 'awaiting_confirmation', reason };
}
