import { DomainError, isDomainError } from '../../domain/errors.ts';
import { readTransactionError } from '../tx/error.ts';
import { isPlain, printableText } from './node-text.ts';

/**
 * How a caller reacts to a JSON-RPC error.
 * - `elsewhere`: ask another node.
 * - `demote`: ask another node, and avoid this node for a while.
 * - `later`: ask another node; a later retry may succeed.
 * - `unfit`: ask another node; this node cannot answer such requests with its version or settings.
 * - `ambiguous`: the error proves nothing, neither that a slot was skipped nor that a block is missing.
 * - `unreadable`: the error proves nothing, and the node is avoided for a while.
 * - `inspect`: the result is in `data.err`.
 * - `stop`: an operator must act, unless another node answers.
 * - `fatal`: the request is invalid, unless another node answers.
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

/** Error code of a node without transaction history. */
export const HISTORY_OFF = -32011;
/** Error code for a transaction version above the requested maximum. */
export const UNSUPPORTED_VERSION = -32015;
/** Error code of a node whose version does not have the method. */
const METHOD_NOT_FOUND = -32601;

/**
 * The JSON-RPC error codes of Solana nodes, with one reaction each; any other code is `unreadable`. Source:
 * `RpcCustomError` of Agave.
 *
 * A refused send never proves that a transaction cannot land, because another node may have forwarded it. So it is
 * sent again, and only the chain ends an attempt. A `fatal` refusal of a send is reported if a quorum returns it.
 */
const RPC_REACTIONS: Readonly<Record<number, { readonly name: string; readonly reaction: Reaction }>> = {
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

/** A node answered with a JSON-RPC error object. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;
  readonly node: string;
  readonly method: string;

  constructor(answer: { code: number; message: string; data?: unknown }, node: string, method: string) {
    const codeName = RPC_REACTIONS[answer.code]?.name ?? 'unknown code';
    super(`${method}: ${answer.code} ${codeName}: ${printableText(answer.message)}`);
    this.code = answer.code;
    this.data = answer.data;
    this.node = node;
    this.method = method;
  }

  get reaction(): Reaction {
    return RPC_REACTIONS[this.code]?.reaction ?? 'unreadable';
  }
}

/** `field`: the unreadable part of the answer. `status`: the HTTP status. */
export interface FaultDetails {
  readonly method?: string;
  readonly field?: string;
  readonly status?: number;
  /** Milliseconds without requests to the node: its Retry-After, or a pause after an implausibly large answer. */
  readonly retryAfterMs?: number | null;
  /** False if our rate limits or the caller stopped the request, which is not the node's fault. Default true. */
  readonly asked?: boolean;
  readonly cause?: unknown;
}

/** A node did not answer, or its answer is unusable. `reason`: the message without the node's name. */
export class NodeFault extends DomainError {
  readonly node: string;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly asked: boolean;

  constructor(node: string, reason: string, { cause, ...details }: FaultDetails = {}) {
    const text = printableText(reason);
    super('NodeFault', `${node} ${text}`, { node, ...details }, cause);
    this.node = node;
    this.reason = text;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.asked = details.asked ?? true;
  }
}

/** The reaction to an error of `SolanaNode.call`. Transport faults and unreadable answers demote the node. */
export function reactionTo(error: unknown): Reaction {
  if (error instanceof RpcError) return error.reaction;
  if (error instanceof NodeFault) return error.asked ? 'demote' : 'later';
  return 'fatal';
}

export function isMethodMissing(error: unknown): boolean {
  return error instanceof RpcError && error.code === METHOD_NOT_FOUND;
}

/** True if the node caused the error, not the request. Such a node is avoided for a while. */
export function isNodeAtFault(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'demote' || reaction === 'unreadable';
}

/**
 * The transaction error in a -32002 answer as text (`BlockhashNotFound`, `{"InstructionError":…}`); null if unreadable.
 */
export function preflightError(error: RpcError): string | null {
  if (typeof error.data !== 'object' || error.data === null || !('err' in error.data)) return null;
  const text = readTransactionError(error.data.err)?.text ?? null;
  return text !== null && isPlain(text) ? text : null;
}

/** True for an error that nodes cause. Any other error, such as a defect of Sluice, must be thrown on. */
export function isNodeError(error: unknown): boolean {
  return (
    error instanceof RpcError || isDomainError(error, 'NodeFault') || isDomainError(error, 'NoHealthyNode')
  );
}

/** For `.catch()`: returns null for an error that nodes cause, and throws any other error. */
export function nullIfNodesFail(error: unknown): null {
  if (isNodeError(error)) return null;
  throw error;
}
