import { isDeepStrictEqual } from 'node:util';
import { deriveAta } from '../../solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../solana/tx/programs.ts';
import { BAZAAR } from '../formats/bazaar.ts';
import { at, isObject, type JsonObject, readHeaderJson } from '../formats/json.ts';
import { IDENTIFIER } from '../formats/payment-required.ts';
import { SIGN_IN } from '../passes/sign-in.ts';
import { NETWORKS } from '../terms.ts';
import { fault, joined, NOTHING, note, type TermsReading } from './offer.ts';
import { parsed, readAccepts } from './read-accepts.ts';
import { identifierExtension, interfaceQuote, resourceOfV2 } from './schemas.ts';

/** The answer to a request without a payment. Header names are in lower case. */
export interface ReceivedAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const HEADER = 'PAYMENT-REQUIRED';
/** Proxies and clients often refuse larger ones. */
const MAX_HEADER_BYTES = 8_192;
const KNOWN_EXTENSIONS: readonly string[] = [IDENTIFIER, BAZAAR, SIGN_IN, 'offer-receipt'];

/** Reads the terms of a 402 in every form. Calls no node. */
export function read402(answer: ReceivedAnswer): TermsReading {
  const { status, headers, body: text } = answer;
  if (status !== 402)
    return fault('status', 'must be 402 for a request without a payment', `${status} ${text}`.trim());
  const body = jsonOf(text);
  const header = headers['payment-required'];
  const forms = [
    header === undefined ? withoutHeader(body) : readHeader(header, answer, body),
    at(body, 'x402Version') === 1 ? readAccepts('v1', at(body, 'accepts'), 'body accepts') : NOTHING,
    at(body, 'payment') === undefined ? NOTHING : readQuote(at(body, 'payment')),
  ];
  const read = joined(...forms);
  const isEmpty = read.offers.length === 0 && read.faults.length === 0;
  return joined(
    read,
    isEmpty ? fault('answer', 'must offer scheme exact on Solana in a form of x402') : NOTHING,
    ...notesOn(answer, body),
  );
}

function jsonOf(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Clients of version 2 read the header; some read the body if there is no header. */
function withoutHeader(body: JsonObject | null): TermsReading {
  if (at(body, 'x402Version') !== 2)
    return note(`there is no header ${HEADER}: clients of version 2 cannot pay`);
  return joined(
    fault(`header ${HEADER}`, 'must be present: clients of version 2 read the terms there'),
    readVersion2(body ?? {}, 'body'),
  );
}

function readHeader(header: string, { url }: ReceivedAnswer, body: JsonObject | null): TermsReading {
  const terms = readHeaderJson(header);
  if (terms === null)
    return fault(`header ${HEADER}`, 'must be padded standard base64 of a JSON object in UTF-8', header);
  const { data, reading } = parsed(resourceOfV2, at(terms, 'resource'), `${HEADER} resource`);
  const isElsewhere = data !== null && new URL(data.url).origin !== new URL(url).origin;
  return joined(
    readVersion2(terms, HEADER),
    reading,
    isElsewhere ? note(`${HEADER} resource.url is ${data.url}, and the request went to ${url}`) : NOTHING,
    readExtensions(at(terms, 'extensions')),
    Buffer.byteLength(header) > MAX_HEADER_BYTES
      ? note(`${HEADER} has more than ${MAX_HEADER_BYTES} bytes, which some proxies and clients refuse`)
      : NOTHING,
    at(body, 'x402Version') === 2 && !isDeepStrictEqual(at(body, 'accepts'), at(terms, 'accepts'))
      ? fault('body accepts', `must be equal to accepts of ${HEADER}`, at(body, 'accepts'))
      : NOTHING,
  );
}

function readVersion2(terms: JsonObject, place: string): TermsReading {
  const version = at(terms, 'x402Version');
  if (version !== 2) return fault(`${place} x402Version`, 'must be 2', version ?? null);
  return readAccepts('v2', at(terms, 'accepts'), `${place} accepts`);
}

function readExtensions(extensions: unknown): TermsReading {
  if (extensions === undefined) return NOTHING;
  const place = `${HEADER} extensions`;
  if (!isObject(extensions)) return fault(place, 'must be an object', extensions);
  return joined(
    ...Object.entries(extensions).map(([name, extension]) => {
      const entry = `${place}.${name}`;
      if (!isObject(extension)) return fault(entry, 'must be an object', extension);
      if (name === IDENTIFIER) return parsed(identifierExtension, extension, entry).reading;
      return KNOWN_EXTENSIONS.includes(name)
        ? NOTHING
        : note(`${entry} is not a known extension: clients ignore it`);
    }),
  );
}

function readQuote(quote: unknown): TermsReading {
  const place = 'body payment';
  const { data, reading } = parsed(interfaceQuote, quote, place);
  if (data === null) return reading;
  const { recipientWallet: payTo, mint: asset, tokenAccount, amount, cluster } = data;
  const accounts = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].map((program) =>
    deriveAta(payTo, asset, program, true),
  );
  if (!accounts.includes(tokenAccount))
    return fault(
      `${place}.tokenAccount`,
      `must be the associated token account of recipientWallet for the mint, ${accounts[0]}, or ${accounts[1]} under Token-2022`,
      tokenAccount,
    );
  const network = cluster === 'devnet' ? NETWORKS.devnet : NETWORKS['mainnet-beta'];
  const terms = { asset, payTo, amount: BigInt(amount), feePayer: null, memo: null, maxTimeoutSeconds: null };
  return { ...NOTHING, offers: [{ form: 'interface', place, network, ...terms }] };
}

/** Notes on what some clients lack. */
function notesOn({ headers }: ReceivedAnswer, body: JsonObject | null): readonly TermsReading[] {
  const exposed = (headers['access-control-expose-headers'] ?? '').toLowerCase();
  const isExposed = exposed.includes('payment-required') || exposed.trim() === '*';
  return [
    'payment-required' in headers && !isExposed
      ? note('access-control-expose-headers does not name PAYMENT-REQUIRED: scripts in browsers cannot pay')
      : NOTHING,
    at(body, 'x402Version') === 1
      ? NOTHING
      : note('the body has no terms of version 1: clients of version 1 cannot pay'),
  ];
}
