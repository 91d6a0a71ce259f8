import type { Server } from 'node:http';

const MAX_ATTEMPTS = 50;

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Listens on loopback on `port` and on the port after it, where Solana clients expect subscriptions. Port 0 picks a free pair. */
export async function listenOnPair(rpc: Server, subscriptions: Server, port: number): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const chosen = await listen(rpc, port);
    try {
      await listen(subscriptions, chosen + 1);
      return chosen;
    } catch (error) {
      await stop(rpc);
      if (port !== 0 || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

export { stop as closeServer };
