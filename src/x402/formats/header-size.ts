import type { Resource } from '../terms.ts';

/** With a memo of 256 bytes, PAYMENT-REQUIRED stays below 8 KB: many clients and proxies refuse longer headers. */
const MAX_URL_BYTES = 1_536;
const MAX_DESCRIPTION_BYTES = 1_024;
const MAX_MIME_TYPE_BYTES = 128;
const ELLIPSIS = '…';

/** Shortens the resource to fit a header. A long URL loses first its query, then its path; it stays absolute. */
export function shortResource({ url, description, mimeType }: Resource): Resource {
  return {
    url: shortUrl(url),
    description: clipped(description, MAX_DESCRIPTION_BYTES),
    mimeType: clipped(mimeType, MAX_MIME_TYPE_BYTES),
  };
}

/** Cuts the text and adds an ellipsis, so that it has at most `maxBytes` in JSON. */
export function clipped(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  let kept = '';
  let bytes = bytesOf(ELLIPSIS);
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

function shortUrl(url: string): string {
  if (bytesOf(url) <= MAX_URL_BYTES) return url;
  const [path = ''] = url.split('?', 1);
  return bytesOf(path) <= MAX_URL_BYTES ? path : new URL('/', url).href;
}

/** Bytes in JSON without the quotes: control characters are escaped. */
function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
