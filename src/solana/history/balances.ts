import { chunksOf } from '../../domain/chunks.ts';
import type { Holding, TokenPlace } from '../../domain/reconciliation.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getMultipleAccounts, MAX_ACCOUNTS_PER_CALL } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { readTokenAccount, type TokenAccountInfo } from '../tokens/token-account.ts';
import { isTokenProgram } from '../tx/programs.ts';

export interface WalletAccounts {
  readonly wallet: string;
  /** Token accounts. One that does not exist, or is not the wallet's, counts as zero. */
  readonly tokenAccounts: readonly string[];
  /** Token accounts that a token account of the wallet may own, each with that owner. */
  readonly nested?: ReadonlyMap<string, string>;
}

/** The balances of a wallet in all of these accounts at one finalized slot. */
export interface WalletHoldings {
  readonly wallet: string;
  readonly slot: bigint;
  readonly holdings: readonly Holding[];
  /** Its token accounts with pending confidential transfers, which no balance includes. */
  readonly pending: readonly string[];
  /** Its token accounts that the issuer has frozen, each with its mint. */
  readonly frozen: readonly TokenPlace[];
  /** Token accounts with tokens whose owner is a token account of the wallet; not part of `holdings`. */
  readonly nested: readonly TokenPlace[];
}

/** A node's finalized slot can advance between two calls, though rarely this often in a row. */
const MAX_TRIES = 20;

/** Groups of wallets for one call each. A wallet with too many accounts for one call is a group by itself. */
export function groupsOf(wallets: readonly WalletAccounts[]): readonly (readonly WalletAccounts[])[] {
  const groups: WalletAccounts[][] = [];
  let remainingPlaces = 0;
  for (const walletAccounts of wallets) {
    const size = 1 + walletAccounts.tokenAccounts.length + (walletAccounts.nested?.size ?? 0);
    if (size > remainingPlaces) {
      groups.push([]);
      remainingPlaces = MAX_ACCOUNTS_PER_CALL;
    }
    groups.at(-1)?.push(walletAccounts);
    remainingPlaces -= size;
  }
  return groups;
}

/** A node's balances of these wallets, all at one slot. Throws as `SolanaNode.call` does. */
export async function holdingsOf(
  node: SolanaNode,
  wallets: readonly WalletAccounts[],
): Promise<readonly WalletHoldings[]> {
  const addresses = wallets.flatMap(({ wallet, tokenAccounts, nested }) => [
    wallet,
    ...tokenAccounts,
    ...(nested?.keys() ?? []),
  ]);
  const { slot, accounts } = await accountsAtOneSlot(node, addresses);
  const tokensIn = (owner: string, account: string) => {
    const token = tokensOf(owner, account, accounts.get(account) ?? null);
    return token === null ? [] : [{ account, ...token }];
  };
  return wallets.map(({ wallet, tokenAccounts, nested = new Map<string, string>() }) => {
    const read = tokenAccounts.flatMap((account) => tokensIn(wallet, account));
    const inside = [...nested].flatMap(([account, owner]) => tokensIn(owner, account));
    const lamports = accounts.get(wallet)?.lamports ?? 0n;
    return {
      wallet,
      slot,
      holdings: [
        { account: wallet, asset: 'SOL', amount: lamports },
        ...read.map(({ account, mint, amount }) => ({ account, asset: mint, amount })),
      ],
      pending: read.flatMap(({ account, pendingCredits }) => (pendingCredits > 0n ? [account] : [])),
      frozen: read.filter(({ frozen }) => frozen).map(placeOf),
      nested: inside.filter(({ amount }) => amount > 0n).map(placeOf),
    };
  });
}

function placeOf({ account, mint, amount }: TokenPlace): TokenPlace {
  return { account, mint, amount };
}

async function accountsAtOneSlot(
  node: SolanaNode,
  addresses: readonly string[],
): Promise<{ slot: bigint; accounts: ReadonlyMap<string, AccountInfo | null> }> {
  const parts = chunksOf(addresses, MAX_ACCOUNTS_PER_CALL);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const answers = await Promise.all(parts.map((part) => getMultipleAccounts(node, part)));
    const values = answers.flatMap(({ value }) => value);
    const slots = new Set(answers.map(({ context }) => context.slot));
    const [slot, otherSlot] = slots;
    if (slot === undefined || otherSlot !== undefined) continue;
    return { slot, accounts: new Map(addresses.map((address, at) => [address, values[at] ?? null])) };
  }
  throw new NodeFault(node.name, `does not return ${addresses.length} accounts at one slot`);
}

/** Null if the account is not a token account of the wallet: a node may list any account as one. */
function tokensOf(wallet: string, address: string, account: AccountInfo | null): TokenAccountInfo | null {
  if (account === null || !isTokenProgram(account.owner)) return null;
  try {
    const token = readTokenAccount(address, account);
    return token?.owner === wallet ? token : null;
  } catch {
    return null;
  }
}
