import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Systems assign ephemeral ports from 32768 (Linux) or 49152 up. A port below stays free until its program listens, and while the
// program is down.
const LOWEST = 15_000;
const HIGHEST = 32_767;

/** The next port to try: one process never chooses a port twice, and two processes rarely choose the same ports. */
let next = randomInt(LOWEST, HIGHEST + 1);

/** A TCP port of 127.0.0.1 without a listener, outside the range of ephemeral ports. */
export async function freePort(): Promise<number> {
  for (let tried = LOWEST; tried <= HIGHEST; tried += 1) {
    const port = next;
    next = port === HIGHEST ? LOWEST : port + 1;
    if (await isFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free port from ${LOWEST} to ${HIGHEST}`);
}

/** True if a program can listen on `port` of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
