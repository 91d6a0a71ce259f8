import { chunksOf } from '../../domain/chunks.ts';
import { DomainError } from '../../domain/errors.ts';
import { finalizedProgress } from '../history/wallet-history.ts';
import { ACCOUNTS_PER_CALL, getMultipleAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { readNonceAccount } from './account.ts';
import { type AgreedNonce, agreedNonce, type ShownNonce } from './restored-nonces.ts';

/** Nothing is missing from the record: a bank of any height counts. */
const NO_GAP = -1n;

/** What the nodes that answer show of each account, in the order asked. */
export async function surveyNonces(
  pool: NodePool,
  addresses: readonly string[],
): Promise<readonly (readonly ShownNonce[])[]> {
  if (addresses.length === 0) return [];
  const answers = await pool.all((node) => surveyOn(node, addresses));
  const heard = answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
  return addresses.map((_address, index) => heard.flatMap((shown) => shown[index] ?? []));
}

/** What a quorum's finalized banks agree that each account holds, in the order asked; null where too few do. */
export async function agreedNonces(
  pool: NodePool,
  addresses: readonly string[],
): Promise<readonly (AgreedNonce | null)[]> {
  const survey = await surveyNonces(pool, addresses);
  return survey.map((shown) => agreedNonce(NO_GAP, shown, pool.quorum));
}

async function surveyOn(node: SolanaNode, addresses: readonly string[]): Promise<readonly ShownNonce[]> {
  // Asked first: every bank that it shows after that is at least as far.
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
