import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Returns a function that destroys the connections without a request, now and from then on. Call it before the server
 * closes: Node waits up to 90 s for the first request of an open connection.
 */
export function unusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  let isClosing = false;
  server.on('connection', (socket: Socket) => {
    if (isClosing) return void socket.destroy();
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
  };
}
