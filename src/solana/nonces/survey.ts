import { chunksOf } from '../../domain/chunks.ts';
import { DomainError } from '../../domain/errors.ts';
import { finalizedProgress } from '../history/wallet-history.ts';
import { ACCOUNTS_PER_CALL, getMultipleAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { readNonceAccount } from './account.ts';
import { type AgreedNonce, agreedNonce, type ShownNonce } from './restored-nonces.ts';

/** The database has no gap: a bank of any height counts. */
const NO_GAP = -1n;

export async function surveyNonces(
  pool: NodePool,
  addresses: readonly string[],
): Promise<readonly (readonly ShownNonce[])[]> {
  if (addresses.length === 0) return [];
  const answers = answersIn(await pool.all((node) => surveyOn(node, addresses)));
  return addresses.map((_address, index) => answers.flatMap(({ answer }) => answer[index] ?? []));
}

/**
 * Each account's value by a quorum of finalized banks above the height `end`, in the order of `addresses`; null if too
 * few agree.
 */
export async function agreedNonces(
  pool: NodePool,
  addresses: readonly string[],
  end = NO_GAP,
): Promise<readonly (AgreedNonce | null)[]> {
  const survey = await surveyNonces(pool, addresses);
  return survey.map((shown) => agreedNonce(end, shown, pool.quorum));
}

async function surveyOn(node: SolanaNode, addresses: readonly string[]): Promise<readonly ShownNonce[]> {
  // The progress comes first: every bank read after it is at least as far.
  const { slot: reached, height } = await finalizedProgress(node);
  const shown: ShownNonce[] = [];
  for (const keys of chunksOf(addresses, ACCOUNTS_PER_CALL)) {
    const { context, value } = await getMultipleAccounts(node, keys);
    if (context.slot < reached || value.length !== keys.length) throw behind(node);
    for (const account of value)
      shown.push({ nonce: readNonceAccount(account)?.nonce ?? null, slot: context.slot, height });
  }
  return shown;
}

function behind(node: SolanaNode): DomainError {
  const message = `${node.name} getMultipleAccounts: the answer is older than what the node has finalized, or not whole`;
  return new DomainError('NodeFault', message, { node: node.name });
}
