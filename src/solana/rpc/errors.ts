import { DomainError, isDomainError } from '../../domain/errors.ts';
import { readTransactionError } from '../tx/error.ts';
import { isPlain, printableText } from './node-text.ts';

/**
 * How a caller reacts to a JSON-RPC error.
 * - `elsewhere`: ask another node.
 * - `demote`: ask another node, and avoid this node for a while.
 * - `later`: ask another node; a later retry may succeed.
 * - `unfit`: ask another node; this node never answers such requests with its settings.
 * - `ambiguous`: proves nothing (never "skipped", never "absent").
 * - `unreadable`: proves nothing, and the node is avoided for a while.
 * - `inspect`: the result is in `data.err`.
 * - `stop`: an operator must act, unless another node answers.
 * - `fatal`: our own fault, unless another node answers.
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
/** Error code of a node that is too old, or too new, for the method. */
export const METHOD_NOT_FOUND = -32601;

/**
 * Every JSON-RPC error code of a Solana node, with one reaction; any other code is `unreadable`. Source:
 * `RpcCustomError` of Agave.
 * A refused send never proves that the bytes cannot land, because another node may have forwarded them. So they are
 * sent again, and only the chain ends an attempt. A `fatal` refusal is reported if a quorum returns it.
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

/** A JSON-RPC error object from a node, which therefore understood the request. */
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

/** Details of a fault. `field` = the unreadable part of the answer, `status` = an HTTP status. */
export interface FaultDetails {
  readonly method?: string;
  readonly field?: string;
  readonly status?: number;
  /** How long the node must not be asked, by its own Retry-After or after an answer of impossible size. */
  readonly retryAfterMs?: number | null;
  /** False if our own limits held the request back, or the caller gave up: not the node's fault. Default true. */
  readonly asked?: boolean;
  readonly cause?: unknown;
}

/** A node that did not answer, or sent an unusable answer. `reason` is the message without the node's name. */
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

/** The reaction to any error of `SolanaNode.call`. Transport faults and unreadable answers demote the node. */
export function reactionTo(error: unknown): Reaction {
  if (error instanceof RpcError) return error.reaction;
  if (error instanceof NodeFault) return error.asked ? 'demote' : 'later';
  return 'fatal';
}

export function isMethodMissing(error: unknown): boolean {
  return error instanceof RpcError && error.code === METHOD_NOT_FOUND;
}

/** True if the node is at fault, not the request: then it is avoided for a while. */
export function isNodeAtFault(error: unknown): boolean {
  const reaction = reactionTo(error);
  return reaction === 'demote' || reaction === 'unreadable';
}

/** The error in a -32002 answer as stable text (`BlockhashNotFound`, `{"InstructionError":…}`). */
export function preflightError(error: RpcError): string | null {
  if (typeof error.data !== 'object' || error.data === null || !('err' in error.data)) return null;
  const text = readTransactionError(error.data.err)?.text ?? null;
  return text !== null && isPlain(text) ? text : null;
}

/** True for an error of nodes, which proves nothing. Any other error, such as a defect of ours, must be reported. */
export function isNodeError(error: unknown): boolean {
  return (
    error instanceof RpcError || isDomainError(error, 'NodeFault') || isDomainError(error, 'NoHealthyNode')
  );
}

/** For `catch`: null for an error of nodes. Throws any other error. */
export function nullIfNodesFail(error: unknown): null {
  if (isNodeError(error)) return null;
  throw error;
}
