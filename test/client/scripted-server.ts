import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { SluiceClient } from '../../src/client/client.ts';
import { bodyOf, startHttp } from '../support/http.ts';

/** The reaction of the server to one request: an answer, or a broken connection. */
export type ServerStep =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'break';

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** An API that is unavailable now, and accepts a retry at once. */
export const unavailable = {
  status: 503,
  body: { code: 'Unavailable', detail: 'ask again' },
  headers: { 'retry-after': '0' },
} as const satisfies ServerStep;

/** A client of a server that plays `steps`; the server ends with the test. */
export async function clientOf(steps: readonly ServerStep[]) {
  const server = await startScriptedServer(steps);
  onTestFinished(() => server.close());
  return { server, sluice: new SluiceClient({ baseUrl: `${server.url}/`, apiKey: 'key-1' }) };
}

/** A listening HTTP server that plays `steps` in order, and answers 500 to any other request. */
export async function startScriptedServer(steps: readonly ServerStep[]) {
  const left = [...steps];
  const seen: RecordedRequest[] = [];
  const server = await startHttp(async (request, response) => {
    seen.push(await recordOf(request));
    sendStep(left.shift(), request, response);
  });
  return { ...server, seen };
}

function sendStep(step: ServerStep | undefined, request: IncomingMessage, response: ServerResponse): void {
  if (step === 'break') {
    request.socket.destroy();
    return;
  }
  const { status, body, headers } = step ?? {
    status: 500,
    body: { code: 'NotScripted', detail: 'not scripted' },
  };
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
}

async function recordOf(request: IncomingMessage): Promise<RecordedRequest> {
  const body = await bodyOf(request);
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    authorization: request.headers.authorization,
    body: body.toString('utf8'),
  };
}
