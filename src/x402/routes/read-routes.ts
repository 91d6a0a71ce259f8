import { readFileSync } from 'node:fs';
import { DomainError, messageOf } from '../../domain/errors.ts';
import { describeIssue } from '../../domain/validation-messages.ts';
import type { StoredAnswer } from '../../ledger/x402/obligations.ts';
import { ambiguousKeys, isObject, type JsonObject } from '../formats/json.ts';
import { faultsOfDiscovery } from './discovery.ts';
import {
  faultsOfHeaders,
  faultsOfIssue,
  faultsOfKeys,
  faultsOfPairs,
  type IndexedRoute,
  type RoutesContext,
} from './faults.ts';
import { type Prices, pricesOf } from './prices.ts';
import { type Method, type Route, UPSTREAM_TIMEOUT_SECONDS } from './route.ts';
import { RouteEntry, RoutesFile } from './schema.ts';

/**
 * Reads and parses a routes file. Throws DomainError InvalidRequest that lists every fault with its place in the file.
 */
export function readRoutesFile(path: string, place: RoutesContext): readonly Route[] {
  return routesOf(readContent(path), place, path);
}

/** The JSON object of a routes file, in which no key has two values. Throws InvalidRequest. */
export function readContent(path: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new DomainError('InvalidRequest', `the routes file ${path} does not exist`);
    throw invalid(path, [messageOf(error)]);
  }
  const content = readJson(text, path);
  if (isObject(content)) return content;
  throw invalid(path, ['the file: must be an object']);
}

/** Parses the text of a routes file; `name` identifies it in errors. */
export function readRoutes(text: string, place: RoutesContext, name: string): readonly Route[] {
  return routesOf(readJson(text, name), place, name);
}

/** The routes in the JSON of a routes file; `name` identifies it in errors. Throws InvalidRequest as {@link readRoutesFile}. */
export function routesOf(json: unknown, place: RoutesContext, name: string): readonly Route[] {
  const parsed = RoutesFile.safeParse(json, { error: describeIssue });
  const faults = parsed.success ? [] : parsed.error.issues.flatMap(faultsOfIssue);
  const { payTo, routes: entries } = isObject(json) ? json : {};
  const indexedRoutes: IndexedRoute[] = [];
  for (const [index, raw] of (Array.isArray(entries) ? entries : []).entries()) {
    const at = `routes[${index}]`;
    if (isObject(raw))
      faults.push(...faultsOfKeys(raw, payTo !== undefined, place).map((fault) => at + fault));
    const entry = RouteEntry.safeParse(raw, { error: describeIssue });
    if (!entry.success) continue;
    const { value: prices, faults: priceFaults } = pricesOf(entry.data, place.network, String(payTo));
    const discoveryFaults = faultsOfDiscovery(entry.data.discovery ?? {}, methodsOf(entry.data));
    faults.push(
      ...[
        ...priceFaults,
        ...faultsOfHeaders(entry.data, place),
        ...discoveryFaults.map((fault) => `.discovery${fault}`),
      ].map((fault) => at + fault),
    );
    if (priceFaults.length === 0)
      indexedRoutes.push(
        ...methodsOf(entry.data).map((method) => ({
          index,
          route: routeOf(entry.data, method, prices),
        })),
      );
  }
  faults.push(...faultsOfPairs(indexedRoutes));
  if (faults.length > 0) throw invalid(name, faults);
  return indexedRoutes.map(({ route }) => route);
}

/** Parses JSON. A key with two values is refused, so that no price is ambiguous. */
function readJson(text: string, name: string): unknown {
  let duplicateKeys: readonly string[];
  try {
    duplicateKeys = ambiguousKeys(text);
  } catch (error) {
    throw invalid(name, [`must be JSON: ${messageOf(error)}`]);
  }
  const faults = duplicateKeys.map((key) => `the key ${key} appears twice in one object`);
  if (faults.length > 0) throw invalid(name, faults);
  return JSON.parse(text) as unknown;
}

function methodsOf({ methods, method = 'GET' }: RouteEntry): readonly Method[] {
  return methods ?? [method];
}

function routeOf(entry: RouteEntry, method: Method, prices: Prices | null): Route {
  const { path, upstream = null, upstreamHeaders = {}, answer, widerThanPriced = false } = entry;
  const common = {
    id: `${method} ${path}`,
    method,
    segments: path.slice(1).split('/'),
    upstream,
    upstreamHeaders,
    answer: answer === undefined ? null : storedAnswer(answer),
  };
  if (prices === null) return { kind: 'free', ...common, widerThanPriced };
  const { description, mimeType, flow, stream, retryUnsafe, paymentIdentifier, maxTimeoutSeconds } = entry;
  const { maxAnswerBytes = null, memo = null, timeoutSeconds = UPSTREAM_TIMEOUT_SECONDS } = entry;
  const { accessPass = null, serializedTransaction } = entry;
  const saleFields = {
    description,
    mimeType,
    flow,
    stream,
    retryUnsafe,
    paymentIdentifier,
    serializedTransaction,
    maxTimeoutSeconds,
  };
  return {
    kind: 'priced',
    ...common,
    ...prices,
    ...saleFields,
    timeoutSeconds,
    maxAnswerBytes,
    memo,
    accessPass,
    discovery: entry.discovery ?? null,
  };
}

function storedAnswer({ status, headers, body }: NonNullable<RouteEntry['answer']>): StoredAnswer {
  const isText = typeof body === 'string';
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8';
  const text = isText ? body : JSON.stringify(body);
  const bytes = Buffer.from(text, 'utf8');
  return { status, headers: { 'content-type': type, ...headers }, body: bytes.toString('base64') };
}

function invalid(name: string, faults: readonly string[]): DomainError {
  const lines = faults.map((fault) => `\n  ${fault}`).join('');
  return new DomainError('InvalidRequest', `${name} is not a valid routes file:${lines}`, { faults });
}
