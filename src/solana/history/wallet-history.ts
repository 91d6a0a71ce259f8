import { base58 } from '@scure/base';
import { SOL } from '../../domain/deposit-asset.ts';
import { getEpochInfo, getSignedTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { deriveAta } from '../tokens/ata.ts';
import { messageHashOf } from '../tx/message.ts';
import { isTokenProgram, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../tx/programs.ts';
import { readSigned } from '../tx/signed-transaction.ts';

/** How far a chain is known. */
export interface Progress {
  readonly slot: bigint;
  readonly height: bigint;
}

/** Who signed a transaction, and who had a part in it: every account of it and the owners of its token accounts. */
export interface Parties {
  readonly signers: readonly string[];
  /** base58, in the order of `signers`: the first names the transaction. */
  readonly signatures: readonly string[];
  readonly all: readonly string[];
  /** Whether it moved tokens between accounts whose owners the node tells; `hidden` where it tells not all that there must be. */
  readonly tokens: 'none' | 'told' | 'hidden';
  /** Hex sha256 of what they signed. */
  readonly messageHash: string;
}

/** Everybody who may have got something by a transaction. */
export interface Payees {
  readonly all: readonly string[];
  /** True where an owner of tokens may be missing: then it may have been anybody. */
  readonly hidesOwners: boolean;
}

/** True where `signature` is one of the wallet `address` over `message`. */
export type Verify = (address: string, message: Uint8Array, signature: Uint8Array) => boolean;

/** The finalized slot and height of every node that tells. */
export async function progressOf(pool: NodePool): Promise<readonly Progress[]> {
  const answers = await pool.most(finalizedProgress);
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
}

/**
 * The greatest value that `quorum` of those who tell have reached; null where fewer tell. As at most a minority of nodes lies, one
 * that is honest has reached it.
 */
export function reachedBy(quorum: number, values: readonly bigint[]): bigint | null {
  return values.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[quorum - 1] ?? null;
}

/**
 * The parties of a finalized transaction, from any node whose bytes prove who signed: no node can make that up, nor hide it behind
 * another transaction. Null where none shows such bytes now.
 */
export async function partiesOf(pool: NodePool, signature: string, verify: Verify): Promise<Parties | null> {
  const shown = await pool.second(
    '',
    (node) => readParties(node, signature, verify),
    (parties) => parties !== null,
  );
  return shown?.answer ?? null;
}

/**
 * What all nodes together tell of a transaction whose signed bytes are proven. Who owns a token account that is not an associated one
 * stands in its outcome alone, so that a quorum must tell it.
 */
export async function payeesOf(pool: NodePool, signature: string, verify: Verify): Promise<Payees> {
  const answers = await pool.most((node) => readParties(node, signature, verify));
  const shown = answers.flatMap(({ result }) =>
    result.status === 'fulfilled' && result.value !== null ? [result.value] : [],
  );
  const told = shown.filter(({ tokens }) => tokens === 'told').length;
  const hidesOwners =
    shown.length === 0 || (shown.some(({ tokens }) => tokens !== 'none') && told < pool.quorum);
  return { all: [...new Set(shown.flatMap(({ all }) => all))], hidesOwners };
}

/**
 * True where this may be a payment of `asset` to `destination`: it names the wallet, or its associated token account, which is all
 * that the signed bytes name where it was there before; or nobody knows who got its tokens.
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

async function readParties(node: SolanaNode, signature: string, verify: Verify): Promise<Parties | null> {
  const shown = await getSignedTransaction(node, signature);
  const signed = shown === null ? null : readSigned(shown.transaction);
  const [first] = signed?.signatures ?? [];
  if (shown === null || signed === null || first === undefined || base58.encode(first) !== signature)
    return null;
  const { signers, signatures, message, accounts } = signed;
  const proven = signatures.every((one, index) => verify(signers[index] ?? '', message, one));
  if (!proven) return null;
  const { writable = [], readonly = [] } = shown.meta?.loadedAddresses ?? {};
  const { preTokenBalances, postTokenBalances } = shown.meta ?? {};
  const holders = [...(preTokenBalances ?? []), ...(postTokenBalances ?? [])];
  const owners = holders.flatMap(({ owner }) => owner ?? []);
  const named = [...accounts, ...writable, ...readonly];
  // Each program that moves tokens, called by whichever, is among the accounts; those of lookup tables the meta alone tells.
  const movesTokens = shown.meta === null || named.some(isTokenProgram);
  const isTold =
    preTokenBalances && postTokenBalances && holders.length > 0 && owners.length === holders.length;
  const tokens = movesTokens ? (isTold ? 'told' : 'hidden') : 'none';
  return {
    signers,
    signatures: signatures.map((one) => base58.encode(one)),
    all: [...new Set([...named, ...owners])],
    tokens,
    messageHash: messageHashOf(message),
  };
}

/** How far one node has finalized. */
export async function finalizedProgress(node: SolanaNode): Promise<Progress> {
  const { absoluteSlot, blockHeight } = await getEpochInfo(node, 'finalized');
  return { slot: absoluteSlot, height: blockHeight };
}
