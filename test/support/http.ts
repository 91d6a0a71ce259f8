import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** An HTTP server on a free port of loopback. */
export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers one request; a failure closes the connection without an answer, as a dead server does. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** A server that does not listen yet. */
export function createHttp(answer: RequestHandler): Server {
  return createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
}

export async function startHttp(answer: RequestHandler): Promise<HttpServer> {
  const server = createHttp(answer);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Throws if the client ends the request early. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
