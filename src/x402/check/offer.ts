import type { Network } from '../terms.ts';

/** Forms of the terms in a 402. `interface`: the quote of docs/interface.md. */
export const FORMS = ['v2', 'v1', 'interface'] as const;
export type Form = (typeof FORMS)[number];

/** Terms on Solana in one of the forms, as far as they can be read. */
export interface FormOffer {
  readonly form: Form;
  /** Where the terms are in the answer, such as `PAYMENT-REQUIRED accepts[0]`. */
  readonly place: string;
  readonly network: Network;
  readonly asset: string;
  /** Base units. */
  readonly amount: bigint;
  readonly payTo: string;
  /** Null in the interface's quote: its buyers pay the fee. */
  readonly feePayer: string | null;
  readonly memo: string | null;
  readonly maxTimeoutSeconds: number | null;
}

/** What prevents a payment. `found` is the text of the value; null if there is none. */
export interface TermsFault {
  readonly place: string;
  /** A sentence without its subject, such as `must be a base58 address`. */
  readonly expected: string;
  readonly found: string | null;
}

export interface TermsReading {
  readonly offers: readonly FormOffer[];
  readonly faults: readonly TermsFault[];
  /** What does not prevent a payment. */
  readonly notes: readonly string[];
}

export const NOTHING: TermsReading = { offers: [], faults: [], notes: [] };

export function joined(...readings: readonly TermsReading[]): TermsReading {
  return {
    offers: readings.flatMap(({ offers }) => offers),
    faults: readings.flatMap(({ faults }) => faults),
    notes: readings.flatMap(({ notes }) => notes),
  };
}

export function fault(place: string, expected: string, found: unknown = null): TermsReading {
  return { ...NOTHING, faults: [{ place, expected, found: found === null ? null : textOf(found) }] };
}

export function note(text: string): TermsReading {
  return { ...NOTHING, notes: [text] };
}

const MAX_TEXT = 120;

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
