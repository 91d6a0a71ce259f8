import { messageOf } from '../../domain/errors.ts';
import { request } from '../../shims/undici.ts';
import type { ReceivedAnswer } from './read-402.ts';

const TIMEOUT_MS = 15_000;
const MAX_BODY_BYTES = 1024 * 1024;

/** Requests the URL without a payment, and follows no redirect. Returns a reason if there is no answer. */
export async function askUrl(url: string, method: string): Promise<ReceivedAnswer | string> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { statusCode, headers, body } = await request(url, {
      method: method as 'GET',
      headers: { accept: 'application/json', origin: new URL(url).origin },
      signal,
    });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > MAX_BODY_BYTES) return `the answer has more than ${MAX_BODY_BYTES} bytes`;
      parts.push(part);
    }
    return { url, status: statusCode, headers: joinedValues(headers), body: Buffer.concat(parts).toString() };
  } catch (error) {
    return `there is no answer: ${messageOf(error)}`;
  }
}

function joinedValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value ?? []].flat().join(', ')]),
  );
}
