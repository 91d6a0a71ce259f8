import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ephemeral ports, which begin at 32768 (Linux) or 49152. The system does not assign such a port to another connection
// before the program listens, or while the program restarts.
const MIN_PORT = 15_000;
const MAX_PORT = 32_767;

/** Random at first, so that two processes rarely choose the same port. */
let nextPort = randomInt(MIN_PORT, MAX_PORT + 1);

/** A TCP port of 127.0.0.1 without a listener, outside the range of ephemeral ports. */
export async function freePort(): Promise<number> {
  for (let triedCount = MIN_PORT; triedCount <= MAX_PORT; triedCount += 1) {
    const port = nextPort;
    nextPort = port === MAX_PORT ? MIN_PORT : port + 1;
    if (await isFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free port from ${MIN_PORT} to ${MAX_PORT}`);
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
