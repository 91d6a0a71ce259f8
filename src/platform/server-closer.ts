import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A function that closes an HTTP server: it answers the requests in progress, and destroys connections without a
 * request. Node alone waits up to 90 s for the first request of an open connection. Call it before the server listens.
 */
export function serverCloser(app: { readonly server: Server; close(): unknown }): () => Promise<void> {
  const unused = new Set<Socket>();
  let isClosing = false;
  app.server.on('connection', (socket: Socket) => {
    if (isClosing) return void socket.destroy();
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return async () => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
    await app.close();
  };
}
