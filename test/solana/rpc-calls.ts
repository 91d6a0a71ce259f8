import type { NodePool } from '../../src/solana/rpc/pool.ts';

/** Requests from callers that the nodes of a pool received since the start; probes are not counted. */
export function rpcCalls(pool: NodePool): number {
  return pool.report().reduce((sum, { calls }) => sum + calls, 0);
}

/** Records the method of every call to the nodes, until the returned function is called. */
export function recordCalls(pool: NodePool, asked: string[]): () => void {
  const restore = pool.nodes.map((node) => {
    const call = node.call.bind(node);
    node.call = (method, params, schema) => {
      asked.push(method);
      return call(method, params, schema);
    };
    return () => {
      node.call = call;
    };
  });
  return () => {
    for (const stop of restore) stop();
  };
}

/** Blocks every call to a node until the returned function is called. */
export function blockCalls(pool: NodePool): () => void {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const restore = pool.nodes.map((node) => {
    const call = node.call.bind(node);
    node.call = async (method, params, schema) => {
      await released;
      return call(method, params, schema);
    };
    return () => {
      node.call = call;
    };
  });
  return () => {
    for (const stop of restore) stop();
    release();
  };
}
