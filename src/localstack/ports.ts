import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  const port = await bindable(0);
  if (port === null) throw new Error('127.0.0.1 has no free port');
  return port;
}

/** Whether nobody listens on `port` of 127.0.0.1 at this moment. */
export async function isFree(port: number): Promise<boolean> {
  return (await bindable(port)) !== null;
}

/** The port that could be bound, released again; null where it is taken. */
function bindable(wanted: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
