import { createServer, type Server } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { closeServer, listenOnPair } from '../../devkit/localnet/ports.ts';
import type { HttpServer } from '../support/http.ts';
import { createNodeProxy, sendAnswer } from '../support/node-proxy.ts';

/**
 * A proxy in front of a node that counts by method. Over HTTP it takes single calls, no batches. It takes WebSockets on its own port and
 * on the next one, and forwards them to the node's next port: Solana clients expect subscriptions there.
 */
export interface CountingProxy extends HttpServer {
  readonly wsUrl: string;
  /** Calls over HTTP and WebSocket since the last {@link reset}. */
  readonly calls: ReadonlyMap<string, number>;
  /** Notifications of the node, such as `slotNotification`, since the last {@link reset}. */
  readonly notifications: ReadonlyMap<string, number>;
  reset(): void;
}

export async function startCountingProxy(rpcUrl: string): Promise<CountingProxy> {
  const [calls, notifications] = [new Map<string, number>(), new Map<string, number>()];
  const rpc = createNodeProxy(rpcUrl, async ({ method, forward, response }) => {
    increment(calls, method);
    sendAnswer(await forward(), response);
  });
  const subscriptions = createServer((_request, response) => response.writeHead(404).end());
  const sockets = relay([rpc, subscriptions], subscriptionUrl(rpcUrl), { calls, notifications });
  const port = await listenOnPair(rpc, subscriptions, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port + 1}`,
    calls,
    notifications,
    reset: () => {
      calls.clear();
      notifications.clear();
    },
    close: async () => {
      sockets.close();
      await Promise.all([rpc, subscriptions].map(closeServer));
    },
  };
}

function subscriptionUrl(rpcUrl: string): string {
  const { hostname, port } = new URL(rpcUrl);
  return `ws://${hostname}:${Number(port) + 1}`;
}

type ProxyCounts = Readonly<Record<'calls' | 'notifications', Map<string, number>>>;

/** Connects each WebSocket of a client with one of the node's. If one of the two ends, the other one is terminated. */
function relay(
  servers: readonly Server[],
  nodeUrl: string,
  { calls, notifications }: ProxyCounts,
): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true });
  const open = new Set<WebSocket>();
  const connect = (client: WebSocket): void => {
    const node = new WebSocket(nodeUrl, { perMessageDeflate: false });
    const isOpen = new Promise<void>((resolve) => node.once('open', resolve));
    client.on('message', (data: Buffer) => {
      count(calls, data);
      void isOpen.then(() => node.send(data.toString()));
    });
    node.on('message', (data: Buffer) => {
      count(notifications, data);
      client.send(data.toString());
    });
    for (const [one, other] of [
      [client, node],
      [node, client],
    ] as const) {
      open.add(one);
      one.on('error', () => one.terminate());
      one.on('close', () => {
        open.delete(one);
        other.terminate();
      });
    }
  };
  for (const server of servers)
    server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head, connect));
  return {
    close: () => {
      for (const socket of open) socket.terminate();
    },
  };
}

/** Answers have no method. */
function count(counts: Map<string, number>, message: Buffer): void {
  const { method } = JSON.parse(message.toString()) as { readonly method?: string };
  if (method !== undefined) increment(counts, method);
}

function increment(counts: Map<string, number>, method: string): void {
  counts.set(method, (counts.get(method) ?? 0) + 1);
}
