export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): RpcFailure {
  return new RpcFailure(-32602, message);
}

/** The server errors of Agave's `rpc-client-api/custom_error.rs` that this chain returns. */
export const failures = {
  blockCleanedUp: (slot: number, first: number) =>
    new RpcFailure(
      -32001,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    ),
  preflight: (message: string, data: unknown) =>
    new RpcFailure(-32002, `Transaction simulation failed: ${message}`, data),
  signature: () => new RpcFailure(-32003, 'Transaction signature verification failure'),
  blockNotAvailable: (slot: number) => new RpcFailure(-32004, `Block not available for slot ${slot}`),
  behind: (slots: number) =>
    new RpcFailure(-32005, `Node is behind by ${slots} slots`, { numSlotsBehind: slots }),
  slotSkipped: (slot: number) =>
    new RpcFailure(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`),
  unsupportedVersion: (version: number) =>
    new RpcFailure(
      -32015,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    ),
  minContextSlot: (contextSlot: number) =>
    new RpcFailure(-32016, 'Minimum context slot has not been reached', { contextSlot }),
  methodNotFound: () => new RpcFailure(-32601, 'Method not found'),
} as const;
