import { ADDRESS_TEXT, isAddress } from './address.ts';
import { parseAmount } from './amount.ts';
import { DomainError } from './errors.ts';
import { SETTLEMENT_STATUSES, type SettlementStatus, type StatusReason } from './settlement.ts';

/** States of a withdrawal. A dead attempt never ends one, because Sluice composes another message. */
export type WithdrawalStatus = Exclude<SettlementStatus, 'dead'>;

export const WITHDRAWAL_STATUSES: readonly WithdrawalStatus[] =
  SETTLEMENT_STATUSES.filter(isWithdrawalStatus);

export function isWithdrawalStatus(status: SettlementStatus): status is WithdrawalStatus {
  return status !== 'dead';
}

/** The customer's request. Every field is a JSON scalar, so that a Temporal history can store it. */
export interface WithdrawalTerms {
  /** 1-128 characters of `[A-Za-z0-9._:-]`. */
  readonly id: string;
  /** `SOL` or the base58 address of a mint. */
  readonly asset: string;
  /** Base units (lamports or token base units), decimal, 1 to 2^64-1. */
  readonly amount: string;
  /** Base58 address of the receiving wallet (never a token account). */
  readonly destination: string;
  /** Pay even if the wallet is empty. Default false: such a withdrawal waits for `confirmDestination`. */
  readonly acceptEmptyWallet?: boolean;
  /** UTF-8, at most 200 bytes; written on chain by the Memo program. */
  readonly memo?: string;
}

export const CANCELLED: StatusReason = {
  code: 'cancelled_by_request',
  message: 'cancelled on request; no transaction can pay it',
};

export const MEMO_MAX_BYTES = 200;

/** Pattern of a withdrawal's id. It excludes `.` and `..`, which are path segments with a meaning in a URL. */
export const WITHDRAWAL_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;

const REQUIRED = ['id', 'asset', 'amount', 'destination'] as const;
const EXPECTED: Readonly<Record<keyof WithdrawalTerms, string>> = {
  id: '1 to 128 characters of A-Z a-z 0-9 . _ : -, and neither . nor ..',
  asset: 'SOL or the address of a mint, 32 bytes in base58',
  amount: 'a whole number of base units as a decimal string',
  destination: 'the address of a wallet, 32 bytes in base58',
  acceptEmptyWallet: 'true or false',
  memo: `1 to ${MEMO_MAX_BYTES} bytes of UTF-8 without the character NUL`,
};

/**
 * Validates the form of a withdrawal request (no chain, no database) and returns only the known fields. Throws
 * DomainError InvalidRequest with the first invalid field, or with all missing fields; unknown fields are invalid.
 * Throws AssetRejected and DestinationRejected for base58 text that is not 32 bytes.
 */
export function checkTerms(input: unknown): WithdrawalTerms {
  const fields = asRecord(input);
  const acceptEmptyWallet = optionalBoolean(fields, 'acceptEmptyWallet');
  const memo = fields.has('memo') ? textField(fields, 'memo', isMemo) : undefined;
  return {
    id: textField(fields, 'id', (id) => WITHDRAWAL_ID.test(id)),
    asset: addressField(fields, 'asset', 'AssetRejected', (asset) => asset === 'SOL'),
    amount: parseAmount(textField(fields, 'amount'), 'amount').toString(),
    destination: addressField(fields, 'destination', 'DestinationRejected'),
    ...(acceptEmptyWallet === undefined ? {} : { acceptEmptyWallet }),
    ...(memo === undefined ? {} : { memo }),
  };
}

/**
 * All terms except the id, as one string. Two requests with the same id are equal exactly if their fingerprints are.
 */
export function fingerprint(terms: WithdrawalTerms): string {
  return JSON.stringify(Object.values(comparedTerms(terms)));
}

/**
 * The error for a request whose id is used by different `stored` terms. It lists each different term with both values.
 */
export function termsConflict(stored: WithdrawalTerms, sent: WithdrawalTerms): DomainError {
  const [recorded, requested] = [
    new Map(Object.entries(comparedTerms(stored))),
    Object.entries(comparedTerms(sent)),
  ];
  const differing = requested.filter(([field, value]) => recorded.get(field) !== value);
  const sentences = differing.map(
    ([field, value]) =>
      `${field} is recorded as ${JSON.stringify(recorded.get(field))}, the request has ${JSON.stringify(value)}`,
  );
  return new DomainError('TermsConflict', `the id ${sent.id} is taken: ${sentences.join('; ')}`, {
    id: sent.id,
    fields: differing.map(([field]) => field),
  });
}

/** Never change the order of these fields: stored fingerprints depend on it. */
function comparedTerms({ asset, amount, destination, acceptEmptyWallet = false, memo }: WithdrawalTerms) {
  return { asset, amount, destination, acceptEmptyWallet, memo: memo ?? null };
}

function asRecord(input: unknown): ReadonlyMap<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const message = `a withdrawal must be one object with ${REQUIRED.join(', ')}; this is ${kindOf(input)}`;
    throw new DomainError('InvalidRequest', message, { field: '' });
  }
  const fields = new Map<string, unknown>(Object.entries(input).filter(([, value]) => value !== undefined));
  for (const field of fields.keys())
    if (!Object.hasOwn(EXPECTED, field)) throw invalid(`${field} is not a field of a withdrawal`, [field]);
  const missing = REQUIRED.filter((field) => !fields.has(field));
  if (missing.length > 0)
    throw invalid(missing.map((field) => `${field} is missing: ${EXPECTED[field]}`).join('; '), missing);
  return fields;
}

function kindOf(input: unknown): string {
  if (input === undefined || input === null || input === '') return 'nothing';
  return Array.isArray(input) ? 'an array' : `a ${typeof input}`;
}

function textField(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
  accepts: (value: string) => boolean = () => true,
): string {
  const value = fields.get(field);
  if (typeof value === 'string' && accepts(value)) return value;
  throw invalid(`${field} must be ${EXPECTED[field]}`, [field]);
}

/**
 * Reads an address, or a text that `otherwise` allows. InvalidRequest for malformed base58, `code` for a wrong length.
 */
function addressField(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
  code: 'AssetRejected' | 'DestinationRejected',
  otherwise: (value: string) => boolean = () => false,
): string {
  const value = textField(fields, field, (address) => otherwise(address) || ADDRESS_TEXT.test(address));
  if (otherwise(value) || isAddress(value)) return value;
  throw new DomainError(code, `${field} must be ${EXPECTED[field]}`, { field, fields: [field] });
}

function optionalBoolean(
  fields: ReadonlyMap<string, unknown>,
  field: keyof WithdrawalTerms,
): boolean | undefined {
  const value = fields.get(field);
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`${field} must be ${EXPECTED[field]}`, [field]);
}

function isMemo(memo: string): boolean {
  const bytes = new TextEncoder().encode(memo).length;
  return memo.isWellFormed() && !memo.includes('\0') && bytes >= 1 && bytes <= MEMO_MAX_BYTES;
}

/** `field` is the first invalid field, for programs that read only one. */
function invalid(message: string, fields: readonly string[]): DomainError {
  return new DomainError('InvalidRequest', message, { field: fields[0] ?? '', fields });
}
