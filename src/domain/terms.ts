import { ADDRESS_TEXT, isAddress } from './address.ts';
import { parseAmount } from './amount.ts';
import { DomainError } from './errors.ts';
import type { WithdrawalTerms } from './withdrawal.ts';

/** The longest memo in bytes of UTF-8. */
export const MEMO_MAX_BYTES = 200;

/** The id of a withdrawal. Not `.` and `..`: in a URL they are steps in the path, not names. */
export const WITHDRAWAL_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;

const REQUIRED = ['id', 'asset', 'amount', 'destination'] as const;
/** What each field must be. */
const WANTED: Readonly<Record<keyof WithdrawalTerms, string>> = {
  id: '1 to 128 characters of A-Z a-z 0-9 . _ : -, and neither . nor ..',
  asset: 'SOL or the address of a mint, 32 bytes in base58',
  amount: 'a whole number of base units as a decimal string',
  destination: 'the address of a wallet, 32 bytes in base58',
  acceptEmptyWallet: 'true or false',
  memo: `1 to ${MEMO_MAX_BYTES} bytes of UTF-8 without the character NUL`,
};

/**
 * Checks a customer's wish in form alone (no chain, no database) and returns it with nothing but the known fields.
 * Throws DomainError InvalidRequest that names the first field at fault, and every one that is missing; unknown fields are faults. Throws
 * AssetRejected and DestinationRejected for base58 text that no address has.
 */
export function checkTerms(input: unknown): WithdrawalTerms {
  const fields = asRecord(input);
  const acceptEmptyWallet = optionalBoolean(fields, 'acceptEmptyWallet');
  const memo = fields.has('memo') ? text(fields, 'memo', isMemo) : undefined;
  return {
    id: text(fields, 'id', (id) => WITHDRAWAL_ID.test(id)),
    asset: addressed(fields, 'asset', 'AssetRejected', (asset) => asset === 'SOL'),
    amount: parseAmount(text(fields, 'amount'), 'amount').toString(),
    destination: addressed(fields, 'destination', 'DestinationRejected'),
    ...(acceptEmptyWallet === undefined ? {} : { acceptEmptyWallet }),
    ...(memo === undefined ? {} : { memo }),
  };
}

/** One string for every field that counts beside the id: two requests of one id are the same exactly when theirs are equal. */
export function fingerprint(terms: WithdrawalTerms): string {
  return JSON.stringify(Object.values(compared(terms)));
}

/** The refusal of `sent` where its id is taken by `stored`: names each term that differs, with both values. */
export function termsConflict(stored: WithdrawalTerms, sent: WithdrawalTerms): DomainError {
  const [onRecord, asked] = [new Map(Object.entries(compared(stored))), Object.entries(compared(sent))];
  const differing = asked.filter(([field, value]) => onRecord.get(field) !== value);
  const sentences = differing.map(
    ([field, value]) =>
      `${field} is ${JSON.stringify(onRecord.get(field))} on record, ${JSON.stringify(value)} was sent`,
  );
  return new DomainError('TermsConflict', `the id ${sent.id} is taken: ${sentences.join('; ')}`, {
    id: sent.id,
    fields: differing.map(([field]) => field),
  });
}

/** In the order of every fingerprint on record. */
function compared({ asset, amount, destination, acceptEmptyWallet = false, memo }: WithdrawalTerms) {
  return { asset, amount, destination, acceptEmptyWallet, memo: memo ?? null };
}

function asRecord(input: unknown): ReadonlyMap<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const message = `a withdrawal must be one object with ${REQUIRED.join(', ')}; this is ${kindOf(input)}`;
    throw new DomainError('InvalidRequest', message, { field: '' });
  }
  const given = new Map<string, unknown>(Object.entries(input).filter(([, value]) => value !== undefined));
  for (const field of given.keys())
    if (!Object.hasOwn(WANTED, field)) throw invalid(`${field} is not a field of a withdrawal`, [field]);
  const missing = REQUIRED.filter((field) => !given.has(field));
  if (missing.length > 0)
    throw invalid(missing.map((field) => `${field} is missing: ${WANTED[field]}`).join('; '), missing);
  return given;
}

function kindOf(input: unknown): string {
  if (input === undefined || input === null || input === '') return 'nothing';
  return Array.isArray(input) ? 'an array' : `a ${typeof input}`;
}

function text(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
  holds: (value: string) => boolean = () => true,
): string {
  const value = fields.get(field);
  if (typeof value === 'string' && holds(value)) return value;
  throw invalid(`${field} must be ${WANTED[field]}`, [field]);
}

/** An address, or a text that `otherwise` allows. Its form is one question, whether it is 32 bytes another. */
function addressed(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
  code: 'AssetRejected' | 'DestinationRejected',
  otherwise: (value: string) => boolean = () => false,
): string {
  const value = text(fields, field, (given) => otherwise(given) || ADDRESS_TEXT.test(given));
  if (otherwise(value) || isAddress(value)) return value;
  throw new DomainError(code, `${field} must be ${WANTED[field]}`, { field, fields: [field] });
}

function optionalBoolean(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
): boolean | undefined {
  const value = fields.get(field);
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`${field} must be ${WANTED[field]}`, [field]);
}

function isMemo(memo: string): boolean {
  const bytes = new TextEncoder().encode(memo).length;
  return memo.isWellFormed() && !memo.includes('\0') && bytes >= 1 && bytes <= MEMO_MAX_BYTES;
}

/** `field` is the first at fault, for programs that look at one. */
function invalid(message: string, fields: readonly string[]): DomainError {
  return new DomainError('InvalidRequest', message, { field: fields[0] ?? '', fields });
}
