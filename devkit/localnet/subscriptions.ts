import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import type { SimulatedChain } from './chain/chain.ts';
import type { Block } from './chain/records.ts';
import { toJson } from './encoding/json.ts';
import { type Fault, faultOf } from './faults.ts';
import type { RpcNode } from './node.ts';
import { API_VERSION } from './rpc/call.ts';
import { failures, RpcFailure } from './rpc/errors.ts';
import { checkSignature, commitmentOf, Params } from './rpc/params.ts';

type Watcher = () => boolean;

interface Reply {
  readonly result: unknown;
  readonly afterReply?: () => void;
}

let lastSubscriptionId = 0;

class Session {
  readonly #node: RpcNode;
  readonly #socket: WebSocket;
  readonly #watchers = new Map<number, Watcher>();
  readonly #slots = new Set<number>();
  readonly #slotsUpdates = new Set<number>();

  constructor(node: RpcNode, socket: WebSocket) {
    this.#node = node;
    this.#socket = socket;
  }

  async receive(text: string): Promise<void> {
    let id: unknown = null;
    try {
      const request: unknown = JSON.parse(text);
      if (typeof request !== 'object' || request === null) throw new RpcFailure(-32600, 'Invalid request');
      const { id: requestId, method, params } = Object.fromEntries(Object.entries(request));
      id = requestId ?? null;
      const faults = this.#node.faults.take(String(method));
      const error = faultOf(faults, 'error');
      if (error) throw new RpcFailure(error.code, error.message, error.data);
      const reply = this.#call(String(method), new Params(params));
      await this.#send({ jsonrpc: '2.0', result: reply.result, id }, faults);
      reply.afterReply?.();
    } catch (error) {
      const failure = error instanceof RpcFailure ? error : new RpcFailure(-32700, 'Parse error');
      await this.#send({ jsonrpc: '2.0', error: { code: failure.code, message: failure.message }, id }, []);
    }
  }

  onBlock(block: Block): void {
    const view = this.#node.view(this.#node.faults.lasting('slotNotification'));
    const newest = view.lagBlocks === 0 ? block : view.at('processed');
    const root = view.at('finalized').slot;
    for (const subscriptionId of this.#slots) {
      this.#notify('slotNotification', subscriptionId, {
        slot: newest.slot,
        parent: newest.parentSlot,
        root,
      });
    }
    for (const subscriptionId of this.#slotsUpdates) this.#notifySlotsUpdates(subscriptionId, block);
    for (const [subscriptionId, watcher] of this.#watchers)
      if (watcher()) this.#watchers.delete(subscriptionId);
  }

  #call(method: string, params: Params): Reply {
    switch (method) {
      case 'signatureSubscribe':
        return this.#watchSignature(params);
      case 'slotSubscribe': {
        const subscriptionId = ++lastSubscriptionId;
        this.#slots.add(subscriptionId);
        return { result: subscriptionId };
      }
      case 'slotsUpdatesSubscribe': {
        const subscriptionId = ++lastSubscriptionId;
        this.#slotsUpdates.add(subscriptionId);
        return { result: subscriptionId };
      }
      case 'signatureUnsubscribe':
      case 'slotsUpdatesUnsubscribe':
      case 'slotUnsubscribe':
        return { result: this.#unsubscribe(params.integer(0)) };
      default:
        throw failures.methodNotFound();
    }
  }

  #unsubscribe(subscriptionId: number): boolean {
    const subscriptions = [this.#watchers, this.#slots, this.#slotsUpdates];
    if (subscriptions.some((each) => each.delete(subscriptionId))) return true;
    throw new RpcFailure(-32602, 'Invalid subscription id.');
  }

  /** The updates of Agave that a chain without shreds and forks has. */
  #notifySlotsUpdates(subscriptionId: number, block: Block): void {
    const view = this.#node.view(this.#node.faults.lasting('slotsUpdatesNotification'));
    const newest = view.lagBlocks === 0 ? block : view.at('processed');
    const timestamp = Date.now();
    const updates = [
      { type: 'createdBank', slot: newest.slot + 1, parent: newest.slot },
      { type: 'optimisticConfirmation', slot: view.at('confirmed').slot },
      { type: 'root', slot: view.at('finalized').slot },
    ];
    for (const update of updates)
      this.#notify('slotsUpdatesNotification', subscriptionId, { ...update, timestamp });
  }

  #watchSignature(params: Params): Reply {
    const signature = checkSignature(params.string(0));
    const commitment = commitmentOf(params.config(1));
    const subscriptionId = ++lastSubscriptionId;
    const watcher = (): boolean => {
      const view = this.#node.view(this.#node.faults.lasting('signatureNotification'));
      const record = view.chain.ledger.record(signature);
      if (!record || record.slot > view.at(commitment).slot) return false;
      const context = { apiVersion: API_VERSION, slot: view.at(commitment).slot };
      this.#notify('signatureNotification', subscriptionId, { context, value: { err: record.meta.err } });
      return true;
    };
    // Notify only after the reply, so that the client knows the subscription id before it receives a notification.
    const afterReply = (): void => {
      if (!watcher()) this.#watchers.set(subscriptionId, watcher);
    };
    return { result: subscriptionId, afterReply };
  }

  #notify(method: string, subscriptionId: number, result: unknown): void {
    const message = { jsonrpc: '2.0', method, params: { result, subscription: subscriptionId } };
    void this.#send(message, this.#node.faults.take(method));
  }

  /** Sends a message. Faults can delay it, drop it, or close the connection. */
  async #send(message: unknown, faults: readonly Fault[]): Promise<void> {
    const delay = faultOf(faults, 'delay');
    if (delay) await sleep(delay.ms);
    if (faultOf(faults, 'drop') ?? faultOf(faults, 'lost-answer')) return this.#socket.terminate();
    if (faultOf(faults, 'no-answer') || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(toJson(message));
  }
}

/** Accepts WebSocket connections on all of `servers` and sends each client the subscriptions of that server's node. */
export function serveSubscriptions(
  chain: SimulatedChain,
  servers: readonly { readonly server: Server; readonly node: RpcNode }[],
): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true });
  const sessions = new Map<WebSocket, Session>();
  const open = (client: WebSocket, node: RpcNode): void => {
    const session = new Session(node, client);
    sessions.set(client, session);
    client.on('message', (data) => {
      void session.receive(Buffer.isBuffer(data) ? data.toString('utf8') : '');
    });
    client.on('close', () => sessions.delete(client));
    client.on('error', () => client.terminate());
  };
  for (const { server, node } of servers) {
    server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) => open(client, node));
    });
  }
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
