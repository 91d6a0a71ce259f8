/** Makes one JSON-RPC call to a node of a development chain. Throws if the answer has an error or no result. */
export async function rpc<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const answer = (await response.json()) as {
    readonly result?: T;
    readonly error?: { readonly message: string };
  };
  if (answer.error !== undefined || answer.result === undefined)
    throw new Error(`${method}: ${answer.error?.message ?? 'no result'}`);
  return answer.result;
}

type NodeStatus = { readonly slot: number; readonly confirmationStatus: string };

/** A node's statuses of signatures of any age; null for each signature that the node does not know. */
export async function statusesOf(
  url: string,
  signatures: readonly string[],
): Promise<readonly (NodeStatus | null)[]> {
  const params = [signatures, { searchTransactionHistory: true }];
  const { value } = await rpc<{ value: readonly (NodeStatus | null)[] }>(url, 'getSignatureStatuses', params);
  return value;
}

export async function lamportsOf(
  url: string,
  wallet: string,
  commitment: 'confirmed' | 'finalized',
): Promise<number> {
  const { value } = await rpc<{ readonly value: number }>(url, 'getBalance', [wallet, { commitment }]);
  return value;
}
