/** One JSON-RPC question to a development chain; the worker's own client is `solana/rpc`. */
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
