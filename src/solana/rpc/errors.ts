import { DomainError } from '../../domain/errors.ts';
import { readTransactionError } from '../tx/error.ts';
import { isPlain, plainWords } from './node-text.ts';

/**
 * What a caller does about a JSON-RPC error:
 * `elsewhere` ask another node; `demote` the same, and avoid this node for a while; `later` the same, and worth asking again;
 * `unfit` the same: this node never answers such questions as it is set up; `ambiguous` proves nothing (never "skipped",
 * never "absent"); `unreadable` the same, and avoid a node that speaks in riddles; `inspect` the answer is in `data.err`;
 * `stop` a person must act, and `fatal` it is our own fault, where no node says otherwise.
 */
export type Reaction =
  | 'elsewhere'
  | 'demote'
  | 'later'
  | 'unfit'
  | 'ambiguous'
  | 'unreadable'
  | 'inspect'
  | 'stop'
  | 'fatal';

/** What a node without transaction history answers. */
export const HISTORY_OFF = -32011;
/** What a node answers where a transaction is of a version above the one asked for. */
export const UNSUPPORTED_VERSION = -32015;
/** What a node answers that is too old, or too new, for a method. */
export const METHOD_NOT_FOUND = -32601;

/**
 * Every JSON-RPC code of a Solana node and the one reaction to it. A code that is not here is unreadable. Source: `RpcCustomError` of Agave.
 * No refusal of a send proves that the bytes will not land, as another node may have sent them on: they are sent again all the same, and
 * only the chain ends an attempt. A `fatal` one is told, where a quorum says it.
 */
export const RPC_REACTIONS: Readonly<Record<number, { readonly name: string; readonly reaction: Reaction }>> =
  {
    [-32001]: { name: 'BlockCleanedUp', reaction: 'elsewhere' },
    [-32002]: { name: 'SendTransactionPreflightFailure', reaction: 'inspect' },
    [-32003]: { name: 'TransactionSignatureVerificationFailure', reaction: 'fatal' },
    [-32004]: { name: 'BlockNotAvailable', reaction: 'later' },
    [-32005]: { name: 'NodeUnhealthy', reaction: 'demote' },
    [-32006]: { name: 'TransactionPrecompileVerificationFailure', reaction: 'fatal' },
    [-32007]: { name: 'SlotSkipped', reaction: 'ambiguous' },
    [-32008]: { name: 'NoSnapshot', reaction: 'elsewhere' },
    [-32009]: { name: 'LongTermStorageSlotSkipped', reaction: 'ambiguous' },
    [-32010]: { name: 'KeyExcludedFromSecondaryIndex', reaction: 'unfit' },
    [HISTORY_OFF]: { name: 'TransactionHistoryNotAvailable', reaction: 'unfit' },
    [-32012]: { name: 'ScanError', reaction: 'later' },
    [-32013]: { name: 'TransactionSignatureLenMismatch', reaction: 'fatal' },
    [-32014]: { name: 'BlockStatusNotAvailableYet', reaction: 'later' },
    [UNSUPPORTED_VERSION]: { name: 'UnsupportedTransactionVersion', reaction: 'stop' },
    [-32016]: { name: 'MinContextSlotNotReached', reaction: 'elsewhere' },
    [-32017]: { name: 'EpochRewardsPeriodActive', reaction: 'later' },
    [-32018]: { name: 'SlotNotEpochBoundary', reaction: 'fatal' },
    [-32019]: { name: 'LongTermStorageUnreachable', reaction: 'later' },
    [-32020]: { name: 'SignatureCursorUnknown', reaction: 'elsewhere' },
    [-32600]: { name: 'InvalidRequest', reaction: 'fatal' },
    [METHOD_NOT_FOUND]: { name: 'MethodNotFound', reaction: 'unfit' },
    [-32602]: { name: 'InvalidParams', reaction: 'fatal' },
    [-32603]: { name: 'InternalError', reaction: 'demote' },
    [-32700]: { name: 'ParseError', reaction: 'elsewhere' },
  };

/** A JSON-RPC error object that a node answered: it did understand the question. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;
  readonly node: string;
  readonly method: string;

  constructor(answer: { code: number; message: string; data?: unknown }, node: string, method: string) {
    const known = RPC_REACTIONS[answer.code]?.name ?? 'unknown code';
    super(`${method}: ${answer.code} ${known}: ${plainWords(answer.message)}`);
    this.code = answer.code;
    this.data = answer.data;
    this.node = node;
    this.method = method;
  }

  get reaction(): Reaction {
    return RPC_REACTIONS[this.code]?.reaction ?? 'unreadable';
  }
}

/** What a fault says beside its sentence: `field` = the part of the answer that is odd, `status` = an HTTP status. */
export interface FaultDetails {
  readonly method?: string;
  readonly field?: string;
  readonly status?: number;
  /** How long the node is to be left alone, by its own word or for an answer of a length that no honest one gives. */
  readonly retryAfterMs?: number | null;
  /** False where our own limits kept the question back, or it was given up: that says nothing of the node. Default true. */
  readonly asked?: boolean;
  readonly cause?: unknown;
}

/** A node that did not answer, or answered what cannot be used. `reason` says it without the node's name. */
export class NodeFault extends DomainError {
  readonly node: string;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly asked: boolean;

  constructor(node: string, reason: string, { cause, ...details }: FaultDetails = {}) {
    const words = plainWords(reason);
    super('NodeFault', `${node} ${words}`, { node, ...details }, cause);
    this.node = node;
    this.reason = words;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.asked = details.asked ?? true;
  }
}

/** The reaction to anything that `SolanaNode.call` throws. Transport faults and unreadable answers demote the node. */
export function reactionTo(error: unknown): Reaction {
  if (error instanceof RpcError) return error.reaction;
  if (error instanceof NodeFault) return error.asked ? 'demote' : 'later';
  return 'fatal';
}

/** True for the answer of a node that does not have the method. */
export function isMethodMissing(error: unknown): boolean {
  return error instanceof RpcError && error.code === METHOD_NOT_FOUND;
}

/** True where the node, not the question, is at fault: it is avoided for a while. */
export function isNodeTrouble(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'demote' || reaction === 'unreadable';
}

/** How long the node asked us to stay away (Retry-After), or null. */
export function retryAfterMs(error: unknown): number | null {
  return error instanceof NodeFault ? error.retryAfterMs : null;
}

/** The transaction error inside a -32002 answer, as stable text (`BlockhashNotFound`, `AlreadyProcessed`, `{"InstructionError":…}`). */
export function preflightError(error: RpcError): string | null {
  if (typeof error.data !== 'object' || error.data === null || !('err' in error.data)) return null;
  const text = readTransactionError(error.data.err)?.text ?? null;
  return text !== null && isPlain(text) ? text : null;
}
