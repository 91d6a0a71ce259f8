import type { HeaderValue } from '../../ledger/x402/obligations.ts';

/** Headers that a route adds to its requests, and the environment variables that their values can name. */
export interface RouteHeaders {
  readonly routeHeaders: Readonly<Record<string, HeaderValue>>;
  readonly variables: Readonly<Record<string, string>>;
}

type HeaderTexts = Readonly<Record<string, string>>;

/** True for a text that every server reads as one header value. */
export const HEADER_VALUE = /^[\x20-\x7e]*$/;

/**
 * The headers of a request with those of its route, which replace headers of the client. Not ok if a variable is not
 * set; buyers read the reason, so it names the header only.
 */
export function withRouteHeaders(
  headers: HeaderTexts,
  { routeHeaders, variables }: RouteHeaders,
): { readonly ok: true; readonly headers: HeaderTexts } | { readonly ok: false; readonly reason: string } {
  // CGI and similar servers treat `_` and `-` in header names as equal.
  const others = Object.entries(headers).filter(
    ([name]) => !Object.hasOwn(routeHeaders, name.replaceAll('_', '-')),
  );
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(routeHeaders)) {
    const text = typeof value === 'string' ? value : variables[value.env];
    if (text === undefined) return { ok: false, reason: `the header ${name} of the route has no value` };
    own[name] = text;
  }
  return { ok: true, headers: { ...Object.fromEntries(others), ...own } };
}

/** Names of the headers whose environment variable is not set, or is no header value. */
export function headersWithoutValue({ routeHeaders, variables }: RouteHeaders): readonly string[] {
  return Object.entries(routeHeaders)
    .filter(([, value]) => typeof value !== 'string' && !HEADER_VALUE.test(variables[value.env] ?? '\0'))
    .map(([name]) => name);
}
