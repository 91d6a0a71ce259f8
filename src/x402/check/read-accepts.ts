import type { z } from 'zod';
import { describeIssue } from '../../domain/validation-messages.ts';
import { at, isObject, textAt } from '../formats/json.ts';
import { NETWORKS, type Network } from '../terms.ts';
import { type Form, fault, joined, NOTHING, note, type TermsReading } from './offer.ts';
import { requirementsOfV1, requirementsOfV2 } from './schemas.ts';

const KNOWN: readonly Network[] = [NETWORKS['mainnet-beta'], NETWORKS.devnet];

/** Parses `value`; the faults name its fields below `place`. */
export function parsed<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): { readonly data: z.output<Schema> | null; readonly reading: TermsReading } {
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return { data: result.data, reading: NOTHING };
  const faults = result.error.issues.map(({ path, message }) => {
    const found = path.reduce<unknown>((inner, key) => at(inner, String(key)), value);
    const field = [place, ...path.map(String)].join('.');
    return fault(field, message, found ?? null);
  });
  return { data: null, reading: joined(...faults) };
}

/** Reads `accepts` of version 1 or 2. Entries of other chains and schemes are noted and not checked. */
export function readAccepts(form: 'v1' | 'v2', accepts: unknown, place: string): TermsReading {
  if (!Array.isArray(accepts) || accepts.length === 0)
    return fault(place, 'must be a list with an entry', accepts ?? null);
  return joined(
    ...accepts.map((entry: unknown, index) => readRequirements(form, entry, `${place}[${index}]`)),
  );
}

function readRequirements(form: 'v1' | 'v2', entry: unknown, place: string): TermsReading {
  if (!isObject(entry)) return fault(place, 'must be an object', entry);
  const [scheme, name] = [textAt(entry, 'scheme'), textAt(entry, 'network')];
  if (scheme === null) return fault(`${place}.scheme`, 'must be a string, such as exact', entry['scheme']);
  if (name === null) return fault(`${place}.network`, 'must be a string', entry['network']);
  if (!name.startsWith('solana')) return note(`${place}: network ${name} is not Solana and is not checked`);
  if (scheme !== 'exact') return note(`${place}: scheme ${scheme} is not checked: most clients pay exact`);
  const network = networkOf(form, name);
  if (network === null) return fault(`${place}.network`, `must be ${namesOf(form).join(' or ')}`, name);
  const common = { form, place, network };
  const { data, reading } =
    form === 'v2'
      ? parsed(requirementsOfV2, entry, place)
      : parsed(
          requirementsOfV1.transform(({ maxAmountRequired: amount, ...rest }) => ({ ...rest, amount })),
          entry,
          place,
        );
  if (data === null) return reading;
  const { asset, payTo, amount, maxTimeoutSeconds, extra } = data;
  const { feePayer, memo = null } = extra;
  if (feePayer === payTo)
    return fault(
      `${place}.extra.feePayer`,
      'must not be payTo: the fee payer may not be part of the transfer',
      feePayer,
    );
  const terms = { asset, payTo, amount: BigInt(amount), maxTimeoutSeconds, feePayer, memo };
  return { ...NOTHING, offers: [{ ...common, ...terms }] };
}

/** Names that clients of the form know. */
function namesOf(form: Form): readonly string[] {
  return KNOWN.map(({ caip2, v1 }) => (form === 'v2' ? caip2 : v1));
}

/** Some servers of version 1 use the names of version 2, which some clients accept. */
function networkOf(form: Form, name: string): Network | null {
  return KNOWN.find(({ caip2, v1 }) => name === caip2 || (form === 'v1' && name === v1)) ?? null;
}
