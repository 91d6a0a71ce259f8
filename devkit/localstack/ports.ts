import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Systems give out ports by themselves from 32768 (Linux) or 49152 up: one from below nobody gets by chance, neither before the program
// listens that it was chosen for, nor while that program is down.
const LOWEST = 15_000;
const HIGHEST = 32_767;

/** Where this process goes on: no port is chosen twice, and two processes hardly choose from the same ones. */
let next = randomInt(LOWEST, HIGHEST + 1);

/** A TCP port of 127.0.0.1 that nobody listens on at this moment, and that no system gives to anybody who asks for any. */
export async function freePort(): Promise<number> {
  for (let tried = LOWEST; tried <= HIGHEST; tried += 1) {
    const port = next;
    next = port === HIGHEST ? LOWEST : port + 1;
    if (await isFree(port)) return port;
  }
  throw new Error(`127.0.0.1 has no free port from ${LOWEST} to ${HIGHEST}`);
}

/** Whether `port` of 127.0.0.1 can be listened on at this moment: nobody does, and the system keeps it for nobody. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
