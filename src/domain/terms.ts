import { parseAmount } from './amount.ts';
import { DomainError } from './errors.ts';
import type { WithdrawalTerms } from './withdrawal.ts';

/** The longest memo in bytes of UTF-8. */
export const MEMO_MAX_BYTES = 200;

const FIELDS: ReadonlySet<string> = new Set([
  'id',
  'asset',
  'amount',
  'destination',
  'acceptEmptyWallet',
  'memo',
]);
/** The id of a withdrawal. Not `.` and `..`: in a URL they are steps in the path, not names. */
export const WITHDRAWAL_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;
const MINT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
/** Wide on purpose: a malformed address is a withdrawal rejected with its own reason, not a bad request. */
const DESTINATION = /^[\x21-\x7e]{1,128}$/;

/**
 * Checks a customer's wish in form alone (no chain, no database) and returns it with nothing but the known fields.
 * Throws DomainError InvalidRequest that names the first field at fault; unknown fields are faults.
 */
export function checkTerms(input: unknown): WithdrawalTerms {
  const fields = asRecord(input);
  const id = matching(
    fields,
    'id',
    WITHDRAWAL_ID,
    '1 to 128 characters of A-Z a-z 0-9 . _ : -, and neither . nor ..',
  );
  const asset = text(fields, 'asset');
  if (asset !== 'SOL' && !MINT.test(asset)) fault('asset', 'SOL or the base58 address of a mint');
  const amount = parseAmount(text(fields, 'amount'), 'amount').toString();
  const destination = matching(fields, 'destination', DESTINATION, '1 to 128 visible ASCII characters');
  const acceptEmptyWallet = optionalBoolean(fields, 'acceptEmptyWallet');
  const memo = optionalMemo(fields);
  return {
    id,
    asset,
    amount,
    destination,
    ...(acceptEmptyWallet === undefined ? {} : { acceptEmptyWallet }),
    ...(memo === undefined ? {} : { memo }),
  };
}

/** One string for every field that counts beside the id: two requests of one id are the same exactly when theirs are equal. */
export function fingerprint(terms: WithdrawalTerms): string {
  return JSON.stringify([
    terms.asset,
    terms.amount,
    terms.destination,
    terms.acceptEmptyWallet ?? false,
    terms.memo ?? null,
  ]);
}

function asRecord(input: unknown): ReadonlyMap<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new DomainError('InvalidRequest', 'a withdrawal must be an object', { field: '' });
  }
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  for (const [field] of given) if (!FIELDS.has(field)) fault(field, 'left out: it is not a known field');
  return new Map<string, unknown>(given);
}

function text(fields: ReadonlyMap<string, unknown>, field: string): string {
  const value = fields.get(field);
  return typeof value === 'string' ? value : fault(field, 'a string');
}

function matching(
  fields: ReadonlyMap<string, unknown>,
  field: string,
  pattern: RegExp,
  wanted: string,
): string {
  const value = text(fields, field);
  return pattern.test(value) ? value : fault(field, wanted);
}

function optionalBoolean(fields: ReadonlyMap<string, unknown>, field: string): boolean | undefined {
  const value = fields.get(field);
  return value === undefined || typeof value === 'boolean' ? value : fault(field, 'true or false');
}

function optionalMemo(fields: ReadonlyMap<string, unknown>): string | undefined {
  if (!fields.has('memo')) return undefined;
  const memo = text(fields, 'memo');
  if (memo.includes('\0') || !memo.isWellFormed()) fault('memo', 'Unicode text without the character NUL');
  const bytes = utf8Length(memo);
  if (bytes < 1 || bytes > MEMO_MAX_BYTES) fault('memo', `1 to ${MEMO_MAX_BYTES} bytes of UTF-8`);
  return memo;
}

function utf8Length(value: string): number {
  let bytes = 0;
  for (const character of value) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}

function fault(field: string, wanted: string): never {
  throw new DomainError('InvalidRequest', `${field} must be ${wanted}`, { field });
}
