import { base58 } from '@scure/base';
import { SOL } from '../../domain/deposit-asset.ts';
import { getEpochInfo, getSignedTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { deriveAta } from '../tokens/ata.ts';
import { messageHashOf } from '../tx/message.ts';
import { isTokenProgram, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../tx/programs.ts';
import { readSigned } from '../tx/signed-transaction.ts';

export interface Progress {
  readonly slot: bigint;
  readonly height: bigint;
}

/** The signers and accounts of a transaction. */
export interface Parties {
  readonly signers: readonly string[];
  /** base58, in the order of `signers`; the first identifies the transaction. */
  readonly signatures: readonly string[];
  /** All accounts of the transaction, and the owners of its token accounts as far as the node returns them. */
  readonly all: readonly string[];
  /** Whether `all` contains the owners of all token accounts. `none`: the transaction moves no tokens. */
  readonly owners: 'none' | 'complete' | 'incomplete';
  /** Hex SHA-256 of the signed message. */
  readonly messageHash: string;
}

/** Addresses that may have received SOL or tokens in a transaction. */
export interface Payees {
  readonly all: readonly string[];
  /** True if `all` may lack an owner of a token account, so that any address may have received tokens. */
  readonly hidesOwners: boolean;
}

export type VerifySignature = (address: string, message: Uint8Array, signature: Uint8Array) => boolean;

export async function progressOf(pool: NodePool): Promise<readonly Progress[]> {
  return answersIn(await pool.most(finalizedProgress)).map(({ answer }) => answer);
}

/**
 * The parties of a finalized transaction, from any one node: the signatures prove the signed bytes, so a node cannot
 * forge them. Null if no node returns the transaction.
 */
export async function partiesOf(
  pool: NodePool,
  signature: string,
  verify: VerifySignature,
): Promise<Parties | null> {
  const proved = await pool.second(
    '',
    (node) => readParties(node, signature, verify),
    (parties) => parties !== null,
  );
  return proved?.answer ?? null;
}

/**
 * The payees of a finalized transaction: the union over all nodes that return its signed bytes. Only the transaction's
 * meta names the owner of a token account that is not an associated one. The meta is not signed, so a quorum must
 * return all owners.
 */
export async function payeesOf(pool: NodePool, signature: string, verify: VerifySignature): Promise<Payees> {
  const answers = answersIn(await pool.most((node) => readParties(node, signature, verify)));
  const provedParties = answers.flatMap(({ answer }) => answer ?? []);
  const completeCount = provedParties.filter(({ owners }) => owners === 'complete').length;
  const hidesOwners =
    provedParties.length === 0 ||
    (provedParties.some(({ owners }) => owners !== 'none') && completeCount < pool.quorum);
  return { all: [...new Set(provedParties.flatMap(({ all }) => all))], hidesOwners };
}

/**
 * True if the transaction may have paid `asset` to the wallet `destination`: it names the wallet or its associated
 * token account, or owners are missing. A transfer to an existing associated token account does not name the wallet.
 */
export function mayHavePaid(
  { all, hidesOwners }: Payees,
  { destination, asset }: { readonly destination: string; readonly asset: string },
): boolean {
  if (all.includes(destination)) return true;
  if (hidesOwners && asset !== SOL) return true;
  if (!all.includes(asset)) return false;
  return [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].some((one) =>
    all.includes(deriveAta(destination, asset, one, true)),
  );
}

async function readParties(
  node: SolanaNode,
  signature: string,
  verify: VerifySignature,
): Promise<Parties | null> {
  const answer = await getSignedTransaction(node, signature);
  const signed = answer === null ? null : readSigned(answer.transaction);
  const [first] = signed?.signatures ?? [];
  if (answer === null || signed === null || first === undefined || base58.encode(first) !== signature)
    return null;
  const { signers, signatures, message, accounts } = signed;
  const areProved = signatures.every((one, index) => verify(signers[index] ?? '', message, one));
  if (!areProved) return null;
  const { writable = [], readonly = [] } = answer.meta?.loadedAddresses ?? {};
  const { preTokenBalances, postTokenBalances } = answer.meta ?? {};
  const holders = [...(preTokenBalances ?? []), ...(postTokenBalances ?? [])];
  const knownOwners = holders.flatMap(({ owner }) => owner ?? []);
  const namedAccounts = [...accounts, ...writable, ...readonly];
  // A transaction that moves tokens has a token program among its accounts. Without the meta, accounts from lookup
  // tables are unknown.
  const movesTokens = answer.meta === null || namedAccounts.some(isTokenProgram);
  const isComplete =
    preTokenBalances && postTokenBalances && holders.length > 0 && knownOwners.length === holders.length;
  const owners = movesTokens ? (isComplete ? 'complete' : 'incomplete') : 'none';
  return {
    signers,
    signatures: signatures.map((one) => base58.encode(one)),
    all: [...new Set([...namedAccounts, ...knownOwners])],
    owners,
    messageHash: messageHashOf(message),
  };
}

export async function finalizedProgress(node: SolanaNode): Promise<Progress> {
  const { absoluteSlot, blockHeight } = await getEpochInfo(node, 'finalized');
  return { slot: absoluteSlot, height: blockHeight };
}
