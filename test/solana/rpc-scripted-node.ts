import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { afterEach } from 'vitest';
import { type NodeOptions, SolanaNode } from '../../src/solana/rpc/node.ts';
import { bodyOf, startHttp } from '../support/http.ts';

/** A request as it arrived. */
export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly headers: IncomingHttpHeaders;
  /** The port of the client: equal ports are one connection. */
  readonly fromPort: number;
}

/** The bytes of an answer; `silent` keeps the connection open without any. */
export type ScriptedReply =
  | {
      readonly body: string | Buffer;
      readonly status?: number;
      readonly headers?: OutgoingHttpHeaders;
    }
  | 'silent';

export interface ScriptedNode {
  readonly url: string;
  readonly asked: RpcRequest[];
  close(): Promise<void>;
}

/** An HTTP server on loopback that answers each JSON-RPC request with the bytes that the test sets. */
export async function startScriptedNode(
  answer: (asked: RpcRequest) => ScriptedReply | Promise<ScriptedReply>,
): Promise<ScriptedNode> {
  const asked: RpcRequest[] = [];
  const server = await startHttp(async (request, response) => {
    const text = (await bodyOf(request)).toString();
    const { id, method, params } = JSON.parse(text) as Pick<RpcRequest, 'id' | 'method' | 'params'>;
    const one = { id, method, params, headers: request.headers, fromPort: request.socket.remotePort ?? 0 };
    asked.push(one);
    const reply = await answer(one);
    if (reply !== 'silent') response.writeHead(reply.status ?? 200, reply.headers).end(reply.body);
  });
  return { ...server, asked };
}

/** A node that each test opens for itself, with its answers and its request options; closed at the end of the test. */
export function useScriptedNode() {
  let opened: { readonly server: ScriptedNode; readonly node: SolanaNode } | undefined;
  const use = () => {
    if (opened === undefined) throw new Error('the test opens the node first');
    return opened;
  };
  afterEach(async () => {
    await opened?.node.close();
    await opened?.server.close();
    opened = undefined;
  });
  return {
    async open(answer: Parameters<typeof startScriptedNode>[0], options: NodeOptions = {}): Promise<void> {
      const server = await startScriptedNode(answer);
      opened = { server, node: new SolanaNode(server.url, options) };
    },
    get server() {
      return use().server;
    },
    get node() {
      return use().node;
    },
  };
}

/** A well-formed answer whose result is this JSON text. */
export function resultOf({ id }: RpcRequest, json: string): ScriptedReply {
  return { body: `{"jsonrpc":"2.0","id":${id},"result":${json}}` };
}
