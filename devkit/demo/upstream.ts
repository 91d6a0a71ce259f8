import { createServer, type ServerResponse } from 'node:http';

/** What the demo sells: a server that counts what it was asked and what it has answered. */
export interface DemoUpstream {
  readonly url: string;
  /** The Idempotency-Key of each question, the id of a payment. A question may come again under the same key. */
  readonly asked: readonly string[];
  /** The Idempotency-Key of each answer that was sent. */
  readonly answered: readonly string[];
  /** Resolves with the next question, which gets no answer. */
  holdNext(): Promise<string>;
  close(): Promise<void>;
}

/** Listens on a port of 127.0.0.1. Each answer is another one: the count of answers is in it. */
export async function startUpstream(): Promise<DemoUpstream> {
  const asked: string[] = [];
  const answered: string[] = [];
  let hold: ((key: string) => void) | null = null;
  const server = createServer(({ headers }, response) => {
    const key = String(headers['idempotency-key'] ?? '');
    asked.push(key);
    if (hold === null) return answer(response, answered, key);
    hold(key);
    hold = null;
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  // The demo ends without it where the stack does not start.
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the upstream has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    answered,
    holdNext: () =>
      new Promise((resolve) => {
        hold = resolve;
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function answer(response: ServerResponse, answered: string[], key: string): void {
  answered.push(key);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ report: answered.length }));
}
