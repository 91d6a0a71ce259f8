import type { Server } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Chain } from './chain/chain.ts';
import type { Block, Commitment } from './chain/records.ts';
import { toJson } from './encoding/json.ts';
import { API_VERSION, NodeView } from './rpc/call.ts';
import { RpcFailure } from './rpc/errors.ts';
import { checkSignature, commitmentOf, flag, Params } from './rpc/params.ts';

/** Called after every block; true ends the subscription. */
type Watcher = () => boolean;

let lastSubscription = 0;

/** The subscriptions of one connection. */
class Session {
  readonly #chain: Chain;
  readonly #socket: WebSocket;
  readonly #watchers = new Map<number, Watcher>();
  readonly #slots = new Set<number>();

  constructor(chain: Chain, socket: WebSocket) {
    this.#chain = chain;
    this.#socket = socket;
  }

  receive(text: string): void {
    let id: unknown = null;
    try {
      const request: unknown = JSON.parse(text);
      if (typeof request !== 'object' || request === null) throw new RpcFailure(-32600, 'Invalid request');
      const { id: requestId, method, params } = Object.fromEntries(Object.entries(request));
      id = requestId ?? null;
      const { result, afterwards } = this.#call(String(method), new Params(params));
      this.#send({ jsonrpc: '2.0', result, id });
      afterwards?.();
    } catch (error) {
      const failure = error instanceof RpcFailure ? error : new RpcFailure(-32700, 'Parse error');
      this.#send({ jsonrpc: '2.0', error: { code: failure.code, message: failure.message }, id });
    }
  }

  onBlock(block: Block): void {
    for (const subscription of this.#slots) {
      const root = this.#chain.at('finalized').slot;
      this.#notify('slotNotification', subscription, { slot: block.slot, parent: block.parentSlot, root });
    }
    for (const [subscription, watcher] of this.#watchers) if (watcher()) this.#watchers.delete(subscription);
  }

  #call(method: string, params: Params): { result: unknown; afterwards?: () => void } {
    switch (method) {
      case 'signatureSubscribe':
        return this.#watchSignature(params);
      case 'slotSubscribe': {
        const subscription = ++lastSubscription;
        this.#slots.add(subscription);
        return { result: subscription };
      }
      case 'signatureUnsubscribe':
      case 'slotUnsubscribe':
        return { result: this.#unsubscribe(params.integer(0)) };
      default:
        throw new RpcFailure(-32601, 'Method not found');
    }
  }

  #unsubscribe(subscription: number): boolean {
    if (this.#watchers.delete(subscription) || this.#slots.delete(subscription)) return true;
    throw new RpcFailure(-32602, 'Invalid subscription id.');
  }

  #watchSignature(params: Params): { result: unknown; afterwards: () => void } {
    const signature = checkSignature(params.string(0));
    const config = params.config(1);
    const commitment = commitmentOf(config);
    const subscription = ++lastSubscription;
    let received = !flag(config, 'enableReceivedNotification');
    const watcher = (): boolean => {
      const record = this.#chain.ledger.record(signature);
      if (record && !received) {
        received = true;
        this.#notifySignature(subscription, 'processed', 'receivedSignature');
      }
      if (!record || record.slot > this.#chain.at(commitment).slot) return false;
      this.#notifySignature(subscription, commitment, { err: record.meta.err });
      return true;
    };
    // A notification may not overtake the number of its subscription.
    const afterwards = (): void => {
      if (!watcher()) this.#watchers.set(subscription, watcher);
    };
    return { result: subscription, afterwards };
  }

  #notifySignature(subscription: number, commitment: Commitment, value: unknown): void {
    const { slot } = new NodeView(this.#chain).at(commitment);
    this.#notify('signatureNotification', subscription, {
      context: { apiVersion: API_VERSION, slot },
      value,
    });
  }

  #notify(method: string, subscription: number, result: unknown): void {
    this.#send({ jsonrpc: '2.0', method, params: { result, subscription } });
  }

  #send(message: unknown): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(toJson(message));
  }
}

/** Serves subscriptions to connections that are upgraded on any of the servers. */
export function serveSubscriptions(chain: Chain, servers: readonly Server[]): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true });
  const sessions = new Map<WebSocket, Session>();
  for (const server of servers) {
    server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client, request));
    });
  }
  sockets.on('connection', (client: WebSocket) => {
    const session = new Session(chain, client);
    sessions.set(client, session);
    client.on('message', (data) => session.receive(Buffer.isBuffer(data) ? data.toString('utf8') : ''));
    client.on('close', () => sessions.delete(client));
    client.on('error', () => client.terminate());
  });
  const stop = chain.onEvent((event) => {
    if (event.kind === 'block') for (const session of sessions.values()) session.onBlock(event.block);
  });
  return {
    close: () => {
      stop();
      for (const client of sessions.keys()) client.terminate();
      sockets.close();
    },
  };
}
