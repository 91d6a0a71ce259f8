import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ambiguousKeys, isShallow, type JsonObject, MAX_DEPTH } from '../formats/json.ts';

/** A `/verify` or `/settle` request of version 1 or 2 in one shape. Only its types are checked. */
export interface FacilitatorRequest {
  readonly dialect: 'v1' | 'v2';
  readonly requirements: Requirements;
  /** The requirements that the payment accepts. In version 1: only scheme and network. */
  readonly accepted: Pick<Requirements, 'scheme' | 'network'> &
    Partial<Pick<Requirements, 'asset' | 'amount' | 'payTo'>>;
  /** The transaction in base64. Its type is not checked yet. */
  readonly transaction: unknown;
  /** The whole payment as sent. */
  readonly payload: JsonObject;
}

export interface Requirements {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  /** Base units; its form is not checked yet. */
  readonly amount: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** A request; or `version`, if this facilitator does not support the request's x402 version. */
export type ReadRequest =
  | { readonly kind: 'request'; readonly request: FacilitatorRequest }
  | { readonly kind: 'version'; readonly version: number; readonly network: string };

const shortText = z.string().max(1_000);
const scheme = { scheme: shortText, network: shortText };
const payload = z.looseObject({ transaction: z.unknown().optional() });
const commonRequirements = {
  asset: shortText,
  payTo: shortText,
  maxTimeoutSeconds: z.number().positive(),
  extra: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((extra) => extra ?? {}),
};

const Envelope = z.looseObject({
  paymentPayload: z.looseObject({ x402Version: z.number() }),
  paymentRequirements: z.looseObject(scheme),
});

const Version1 = z.looseObject({
  paymentPayload: z.looseObject({ ...scheme, payload }),
  paymentRequirements: z.looseObject({ ...scheme, maxAmountRequired: shortText, ...commonRequirements }),
});

const Version2 = z.looseObject({
  paymentPayload: z.looseObject({
    accepted: z.looseObject({ ...scheme, asset: shortText, amount: shortText, payTo: shortText }),
    payload,
  }),
  paymentRequirements: z.looseObject({ ...scheme, amount: shortText, ...commonRequirements }),
});

/**
 * Parses the body by the version of its payload. @throws MalformedRequest Source: x402 specification, versions 1 and 2.
 */
export function readRequest(body: unknown): ReadRequest {
  const { paymentPayload, paymentRequirements } = read(Envelope, body);
  const { x402Version: version } = paymentPayload;
  if (version === 1) return { kind: 'request', request: version1(body) };
  if (version === 2) return { kind: 'request', request: version2(body) };
  return { kind: 'version', version, network: paymentRequirements.network };
}

function version1(body: unknown): FacilitatorRequest {
  const { paymentPayload: accepted, paymentRequirements } = read(Version1, body);
  const requirements = { ...paymentRequirements, amount: paymentRequirements.maxAmountRequired };
  return {
    dialect: 'v1',
    requirements,
    accepted,
    transaction: accepted.payload.transaction,
    payload: accepted,
  };
}

function version2(body: unknown): FacilitatorRequest {
  const { paymentPayload, paymentRequirements: requirements } = read(Version2, body);
  const { accepted, payload: paid } = paymentPayload;
  return { dialect: 'v2', requirements, accepted, transaction: paid.transaction, payload: paymentPayload };
}

export function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.map(String).join('.');
  throw new MalformedRequest(`${field}: ${issue?.message ?? 'is not valid'}`);
}

/** A malformed request; `message` names the field. */
export class MalformedRequest extends Error {
  override readonly name = 'MalformedRequest';
  readonly statusCode = 400;
}

const MAX_KEY_CHARACTERS = 100;

/** Accepts only JSON bodies. Refuses deep nesting, prototype keys, and a key with two values in one object. */
export function acceptStrictJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    parseJson(request, body, (error, value) => {
      const fault = error === null ? faultOf(value, body) : NOT_JSON;
      return fault === null ? done(null, value) : done(new MalformedRequest(`body: ${fault}`));
    }),
  );
}

const NOT_JSON = 'must be JSON, without the keys __proto__ and constructor.prototype';

function faultOf(value: unknown, body: string): string | null {
  if (!isShallow(value)) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  const [key] = ambiguousKeys(body);
  if (key === undefined) return null;
  return `must not have the key ${JSON.stringify(key.slice(0, MAX_KEY_CHARACTERS))} twice in one object`;
}
