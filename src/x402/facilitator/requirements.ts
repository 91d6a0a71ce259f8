import { isAddress } from '../../domain/address.ts';
import { parseAmount } from '../../domain/amount.ts';
import { isDomainError } from '../../domain/errors.ts';
import type { MintInfo } from '../../solana/tokens/mint.ts';
import type { Network } from '../networks.ts';
import { ataOf } from '../rules/atas.ts';
import { REASONS } from '../rules/reasons.ts';
import type { Refused, Terms } from '../terms.ts';
import type { CommonField, FacilitatorRequest, Requirements } from './request.ts';

/** Terms from the request. Token program, decimals and token account are read from the chain. */
export type AskedTerms = Omit<Terms, 'tokenProgram' | 'decimals' | 'tokenAccount'>;

export type ReadTerms =
  | { readonly ok: true; readonly terms: AskedTerms }
  | ({ readonly ok: false } & Refused);

const COMMON_FIELDS: readonly CommonField[] = ['asset', 'amount', 'payTo'];
const INVALID = 'invalid_payment_requirements';

/** Parses requirements that this facilitator serves and that the payment accepts. Calls no node. */
export function readRequirements(
  request: FacilitatorRequest,
  network: Network,
  managed: readonly string[],
): ReadTerms {
  const { requirements, accepted, dialect } = request;
  if (requirements.scheme !== 'exact' || accepted.scheme !== 'exact')
    return refused('unsupported_scheme', 'this facilitator supports the scheme "exact"');
  const name = networkName(network, dialect);
  if (requirements.network !== name) return refused('invalid_network', `this facilitator settles on ${name}`);
  if (accepted.network !== name)
    return refused(
      'invalid_exact_svm_network_mismatch',
      `the payment is for ${accepted.network}, not ${name}`,
    );
  const other = dialect === 'v1' ? undefined : COMMON_FIELDS.find((f) => accepted[f] !== requirements[f]);
  if (other !== undefined)
    return refused(INVALID, `paymentPayload.accepted.${other} differs from paymentRequirements.${other}`);
  return readFields(requirements, network, managed);
}

export function networkName(network: Network, dialect: FacilitatorRequest['dialect']): string {
  return dialect === 'v1' ? network.v1 : network.caip2;
}

function readFields(
  { asset, amount, payTo, maxTimeoutSeconds, extra }: Requirements,
  network: Network,
  managed: readonly string[],
): ReadTerms {
  const { feePayer, memo = null } = extra;
  const wrong = [asset, payTo].find((address) => !isAddress(address));
  if (wrong !== undefined) return refused(INVALID, `${JSON.stringify(wrong)} is not an address`);
  const units = readAmount(amount);
  if (units === null) return refused(INVALID, 'the amount must be base units, from 1 to 2^64-1, in decimal');
  if (typeof feePayer !== 'string')
    return refused('invalid_exact_svm_payload_missing_fee_payer', 'extra.feePayer is missing');
  if (!managed.includes(feePayer))
    return refused(REASONS.feePayerNotManaged, `this facilitator does not sign for ${feePayer.slice(0, 44)}`);
  if (memo !== null && !isMemo(memo))
    return refused(INVALID, 'extra.memo must be a text that a memo can hold');
  return {
    ok: true,
    terms: { network, asset, amount: units, payTo, feePayer, maxTimeoutSeconds, memo },
  };
}

/** Completes the terms. Refused if `payTo` cannot own an associated token account. */
export function withMint(
  asked: AskedTerms,
  { program, decimals }: Pick<MintInfo, 'program' | 'decimals'>,
): { readonly ok: true; readonly terms: Terms } | ({ readonly ok: false } & Refused) {
  const tokenAccount = ataOf(asked.payTo, asked.asset, program);
  if (tokenAccount === null) return refused(INVALID, `${asked.payTo} cannot own an associated token account`);
  return { ok: true, terms: { ...asked, tokenProgram: program, decimals, tokenAccount } };
}

export function refused(
  reason: string,
  message: string,
  payer: string | null = null,
): { readonly ok: false } & Refused {
  return { ok: false, reason, message, payer };
}

function readAmount(text: string): bigint | null {
  try {
    return parseAmount(text, 'amount');
  } catch (error) {
    if (isDomainError(error)) return null;
    throw error;
  }
}

/** PostgreSQL JSON stores neither NUL nor lone surrogates. No transaction has room for a longer memo. */
function isMemo(memo: unknown): memo is string {
  return typeof memo === 'string' && memo.length <= 1_232 && memo.isWellFormed() && !memo.includes('\0');
}
