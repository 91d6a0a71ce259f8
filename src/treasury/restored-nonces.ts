import type { Ledger } from '../ledger/ledger.ts';
import type { LostNonceRow } from '../ledger/settlements/nonces.ts';
import type { Chain } from '../solana/chain.ts';
import { nonceAddress, nonceSeed } from '../solana/nonces/account.ts';
import {
  agreedNonces,
  isNonceUsedUp,
  mayBeUsedByLostAttempt,
  surveyNonces,
} from '../solana/nonces/survey.ts';

interface RestoredNoncesDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
}

/**
 * Number of positions above the highest known one that are checked for accounts which a restore lost. Each account
 * that is found extends the range.
 */
const POSITIONS_AHEAD = 300;

/**
 * Settles the durable nonces after a database restore. A lost attempt with a nonce never expires, so its nonce must
 * be used up before the pause ends, by the attempt itself or by an advance. `startMissingRuns` starts the advances.
 *
 * Returns `none` if no nonce of `wallets` was suspected, `gone` if each suspected nonce is used up, and `waiting` if
 * one may still be valid. `end` is the block height that ends the pause: only nodes that have finalized a higher
 * block count.
 * Source: docs/decisions/0010-wallet-history.md.
 */
export async function settleRestoredNonces(
  deps: RestoredNoncesDeps,
  wallets: readonly string[],
  end: bigint,
): Promise<'none' | 'gone' | 'waiting'> {
  const { ledger, chain } = deps;
  const suspected = await ledger.lostNonces.list();
  if (suspected.length > 0) return (await areGone(chain, suspected, end)) ? 'gone' : 'waiting';
  for (const wallet of wallets) if (!(await adoptAccounts(deps, wallet, end))) return 'waiting';
  const found = await findSuspects(deps, end);
  if (found === null) return 'waiting';
  if (found.length === 0) return 'none';
  await ledger.lostNonces.suspect(found, end);
  return 'waiting';
}

async function areGone({ pool }: Chain, suspected: readonly LostNonceRow[], end: bigint): Promise<boolean> {
  const survey = await surveyNonces(
    pool,
    suspected.map(({ address }) => address),
  );
  return suspected.every(({ nonce }, index) => isNonceUsedUp(nonce, end, survey[index] ?? [], pool.quorum));
}

/** Every nonce that a lost attempt may use. Null if too few nodes report one of the accounts. */
async function findSuspects(
  { ledger, chain }: RestoredNoncesDeps,
  end: bigint,
): Promise<readonly LostNonceRow[] | null> {
  const accounts = await ledger.nonces.list();
  const addresses = accounts.map(({ address }) => address);
  const survey = await agreedNonces(chain.pool, addresses, end);
  const suspects: LostNonceRow[] = [];
  for (const [index, { address, state, nonce: recorded }] of accounts.entries()) {
    const agreed = survey[index] ?? null;
    if (agreed === null) return null;
    const { nonce, slot } = agreed;
    if (nonce !== null && mayBeUsedByLostAttempt(agreed, state === 'leased' ? recorded : null))
      suspects.push({ address, nonce, slot });
  }
  return suspects;
}

/**
 * Stores the wallet's nonce accounts that the restore lost. Returns false if too few nodes report one of the
 * accounts.
 */
async function adoptAccounts(deps: RestoredNoncesDeps, authority: string, end: bigint): Promise<boolean> {
  const { ledger, chain } = deps;
  const own = (await ledger.nonces.list()).filter((account) => account.authority === authority);
  const highest = own.reduce((high, { position }) => Math.max(high, position), 0);
  const accounts = Array.from({ length: POSITIONS_AHEAD }, (_, index) => {
    const position = highest + 1 + index;
    return { authority, position, address: nonceAddress(authority, nonceSeed(position)) };
  });
  const addresses = accounts.map(({ address }) => address);
  const survey = await agreedNonces(chain.pool, addresses, end);
  let hasFound = false;
  for (const [index, account] of accounts.entries()) {
    const agreed = survey[index] ?? null;
    if (agreed === null) return false;
    const { nonce, slot } = agreed;
    if (nonce === null) continue;
    hasFound = true;
    await ledger.nonces.adopt(account, { nonce, slot });
  }
  return hasFound ? adoptAccounts(deps, authority, end) : true;
}
