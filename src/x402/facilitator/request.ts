import { z } from 'zod';
import { Unreadable } from './body.ts';

/** A `/verify` or `/settle` request of version 1 or 2 in one shape. Only its types are checked. */
export interface FacilitatorRequest {
  readonly dialect: 'v1' | 'v2';
  readonly requirements: Requirements;
  /** The requirements that the payment accepts. Version 1 has only scheme and network. */
  readonly accepted: Pick<Requirements, 'scheme' | 'network'> & Partial<Pick<Requirements, CommonField>>;
  /** The transaction in base64, if it is a string. */
  readonly transaction: unknown;
}

export interface Requirements {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  /** Base units, as sent. */
  readonly amount: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: Readonly<Record<string, unknown>>;
}

export type CommonField = 'asset' | 'amount' | 'payTo';

/** `version`: this facilitator does not support the request's version. */
export type ReadRequest =
  | { readonly kind: 'request'; readonly request: FacilitatorRequest }
  | { readonly kind: 'version'; readonly version: number; readonly network: string };

const text = z.string().max(1_000);
const payload = z.looseObject({ transaction: z.unknown().optional() });
const extra = z.record(z.string(), z.unknown()).nullish();
const maxTimeoutSeconds = z.number().positive();

const Envelope = z.looseObject({
  paymentPayload: z.looseObject({ x402Version: z.number() }),
  paymentRequirements: z.looseObject({ scheme: text, network: text }),
});

const Version1 = z.looseObject({
  paymentPayload: z.looseObject({ scheme: text, network: text, payload }),
  paymentRequirements: z.looseObject({
    scheme: text,
    network: text,
    maxAmountRequired: text,
    asset: text,
    payTo: text,
    maxTimeoutSeconds,
    extra,
  }),
});

const Version2 = z.looseObject({
  paymentPayload: z.looseObject({
    accepted: z.looseObject({ scheme: text, network: text, asset: text, amount: text, payTo: text }),
    payload,
  }),
  paymentRequirements: z.looseObject({
    scheme: text,
    network: text,
    amount: text,
    asset: text,
    payTo: text,
    maxTimeoutSeconds,
    extra,
  }),
});

/**
 * Uses the payload's version. @throws Unreadable that names the field. Source: x402 specification, versions 1 and
 * 2.
 */
export function readRequest(body: unknown): ReadRequest {
  const { paymentPayload, paymentRequirements } = read(Envelope, body);
  switch (paymentPayload.x402Version) {
    case 1:
      return { kind: 'request', request: version1(body) };
    case 2:
      return { kind: 'request', request: version2(body) };
    default:
      return {
        kind: 'version',
        version: paymentPayload.x402Version,
        network: paymentRequirements.network,
      };
  }
}

function version1(body: unknown): FacilitatorRequest {
  const { paymentPayload, paymentRequirements } = read(Version1, body);
  const { maxAmountRequired: amount, extra: more, ...rest } = paymentRequirements;
  const { scheme, network } = paymentPayload;
  return {
    dialect: 'v1',
    requirements: { ...rest, amount, extra: more ?? {} },
    accepted: { scheme, network },
    transaction: paymentPayload.payload.transaction,
  };
}

function version2(body: unknown): FacilitatorRequest {
  const { paymentPayload, paymentRequirements } = read(Version2, body);
  const { extra: more, ...rest } = paymentRequirements;
  return {
    dialect: 'v2',
    requirements: { ...rest, extra: more ?? {} },
    accepted: paymentPayload.accepted,
    transaction: paymentPayload.payload.transaction,
  };
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.map(String).join('.');
  throw new Unreadable(`${field}: ${issue?.message ?? 'is not valid'}`);
}
