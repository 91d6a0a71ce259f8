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
  /** Token accounts. An account that does not exist, or has a different owner, counts as zero. */
  readonly tokenAccounts: readonly string[];
  /** Token accounts whose owner can be a token account of the wallet, each with that owner. */
  readonly nested?: ReadonlyMap<string, string>;
}

/** The balances of a wallet and its token accounts at one finalized slot. */
export interface WalletHoldings {
  readonly wallet: string;
  readonly slot: bigint;
  readonly holdings: readonly Holding[];
  /** The wallet's token accounts with pending confidential transfers, which no balance includes. */
  readonly pending: readonly string[];
  /** The wallet's token accounts that the issuer has frozen. */
  readonly frozen: readonly TokenPlace[];
  /** Token accounts with a balance whose owner is a token account of the wallet. They are not part of `holdings`. */
  readonly nested: readonly TokenPlace[];
}

/** Tries to read all accounts at one slot. The node's finalized slot rarely advances between the calls of every try. */
const MAX_TRIES = 20;

/** Groups of wallets whose accounts fit in one call. A wallet with more accounts than that is a group by itself. */
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

/** One node's balances of the wallets, all at one finalized slot. Throws as `SolanaNode.call` does. */
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
  throw new NodeFault(
    node.name,
    `did not return ${addresses.length} accounts at one slot in ${MAX_TRIES} tries`,
  );
}

/** The balance of a wallet's token account; null if the account is not one. A node can list any account as one. */
function tokensOf(wallet: string, address: string, account: AccountInfo | null): TokenAccountInfo | null {
  if (account === null || !isTokenProgram(account.owner)) return null;
  try {
    const token = readTokenAccount(address, account);
    return token?.owner === wallet ? token : null;
  } catch {
    return null;
  }
}
