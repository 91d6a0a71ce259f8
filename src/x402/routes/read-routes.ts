import { readFileSync } from 'node:fs';
import { parse } from 'lossless-json';
import { DomainError, messageOf } from '../../domain/errors.ts';
import type { StoredAnswer } from '../../ledger/x402/obligations.ts';
import type { Network } from '../networks.ts';
import {
  faultsOfIssue,
  faultsOfKeys,
  faultsOfPairs,
  type OwnPaths,
  type Placed,
  plainError,
} from './faults.ts';
import { type Price, priceOf } from './prices.ts';
import type { Method, Route } from './route.ts';
import { RouteEntry, RoutesFile } from './schema.ts';

export interface RoutesPlace extends OwnPaths {
  readonly network: Network;
}

/** Parses a routes file. Throws DomainError InvalidRequest with each fault and its place, one per line. */
export function readRoutesFile(path: string, place: RoutesPlace): readonly Route[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(path, [messageOf(error)]);
  }
  return readRoutes(text, place, path);
}

/** Parses the text of a routes file; `name` identifies it in errors. */
export function readRoutes(text: string, place: RoutesPlace, name: string): readonly Route[] {
  const json = readJson(text, name);
  const parsed = RoutesFile.safeParse(json, { error: plainError });
  const faults = parsed.success ? [] : parsed.error.issues.flatMap(faultsOfIssue);
  const { payTo, routes: entries } = isRecord(json) ? json : {};
  const placed: Placed[] = [];
  for (const [index, raw] of (Array.isArray(entries) ? entries : []).entries()) {
    const at = `routes[${index}]`;
    if (isRecord(raw))
      faults.push(...faultsOfKeys(raw, payTo !== undefined, place).map((fault) => at + fault));
    const entry = RouteEntry.safeParse(raw, { error: plainError });
    if (!entry.success) continue;
    const price =
      entry.data.price === undefined ? null : priceOf(entry.data, entry.data.price, place.network);
    if (isFaults(price)) faults.push(...price.map((fault) => at + fault));
    else placed.push(...routesOf(entry.data, price, String(payTo)).map((route) => ({ index, route })));
  }
  faults.push(...faultsOfPairs(placed));
  if (faults.length > 0) throw invalid(name, faults);
  return placed.map(({ route }) => route);
}

/** Parses JSON with unique keys: parsers could choose either of two prices. */
function readJson(text: string, name: string): unknown {
  const twice: string[] = [];
  try {
    parse(text, undefined, { onDuplicateKey: ({ key }) => void twice.push(key) });
  } catch (error) {
    throw invalid(name, [`must be JSON: ${messageOf(error)}`]);
  }
  if (twice.length > 0)
    throw invalid(
      name,
      twice.map((key) => `the key ${key} is there twice in one object`),
    );
  return JSON.parse(text) as unknown;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFaults(price: Price | readonly string[] | null): price is readonly string[] {
  return Array.isArray(price);
}

function routesOf(entry: RouteEntry, price: Price | null, payTo: string): readonly Route[] {
  const methods = entry.methods ?? [entry.method ?? 'GET'];
  return methods.map((method) => routeOf(entry, method, price, payTo));
}

function routeOf(entry: RouteEntry, method: Method, price: Price | null, payTo: string): Route {
  const { path, upstream = null, answer } = entry;
  const common = {
    id: `${method} ${path}`,
    method,
    segments: path.slice(1).split('/'),
    upstream,
    answer: answer === undefined ? null : storedAnswer(answer),
  };
  if (price === null) return { kind: 'free', ...common };
  const { description, mimeType, flow, maxAnswerBytes, memo } = entry;
  const { retryUnsafe, paymentIdentifier, maxTimeoutSeconds } = entry;
  return {
    kind: 'priced',
    ...common,
    ...price,
    payTo: entry.payTo ?? payTo,
    description,
    mimeType,
    flow,
    maxAnswerBytes: maxAnswerBytes ?? null,
    retryUnsafe,
    paymentIdentifier,
    maxTimeoutSeconds,
    memo: memo ?? null,
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
