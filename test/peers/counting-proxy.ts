import type { HttpServer } from '../support/http.ts';
import { sendAnswer, startNodeProxy } from '../support/node-proxy.ts';

/** A proxy in front of a node that counts calls by method. It takes single calls over HTTP, no batches and no subscriptions. */
export interface CountingProxy extends HttpServer {
  /** Calls since the last {@link reset}. */
  readonly calls: ReadonlyMap<string, number>;
  reset(): void;
}

export async function startCountingProxy(rpcUrl: string): Promise<CountingProxy> {
  const calls = new Map<string, number>();
  const proxy = await startNodeProxy(rpcUrl, async ({ method, forward, response }) => {
    calls.set(method, (calls.get(method) ?? 0) + 1);
    sendAnswer(await forward(), response);
  });
  return { ...proxy, calls, reset: () => calls.clear() };
}
