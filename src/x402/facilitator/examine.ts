import { base64 } from '@scure/base';
import { isAddress } from '../../domain/address.ts';
import { parseAmount } from '../../domain/amount.ts';
import { isDomainError } from '../../domain/errors.ts';
import type { FacilitatorKey } from '../../ledger/operations/api-keys.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { type MintInfo, readMint } from '../../solana/tokens/mint.ts';
import { TOKEN_PROGRAM } from '../../solana/tx/programs.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import type { CheckedPayment } from '../purchase.ts';
import { ataOf, checkExact } from '../rules/exact.ts';
import { mintRefusal } from '../rules/mint-policy.ts';
import { BrokenRule, REASONS, refuse } from '../rules/reasons.ts';
import { type Network, namesInVersion1, type Refused, type Terms } from '../terms.ts';
import type { FacilitatorDeps } from './facilitator.ts';
import type { FacilitatorRequest, Requirements } from './request.ts';

export type RefusedPayment = { readonly kind: 'refused' } & Refused;

type ExaminerDeps = Pick<
  FacilitatorDeps,
  'chain' | 'network' | 'limits' | 'tokenPolicy' | 'managed' | 'warn'
>;

/**
 * Reason of a refusal without effect, which the caller may retry. Responses have `unexpected_verify_error` or
 * `unexpected_settle_error` instead.
 */
export const UNAVAILABLE = 'unavailable';
const INVALID = 'invalid_payment_requirements';

/** Short, because mint extensions can change. The check of the received amount does not use this cache. */
const MINT_CACHE_MS = 180_000;
/** 1,232 bytes in base64. */
const MAX_TRANSACTION_CHARACTERS = 1_644;
/** No transaction has room for a longer memo. */
const MAX_MEMO_CHARACTERS = 1_232;

/**
 * Checks requests by the rules of scheme `exact`, without simulation. Reads only the mint from the chain, cached for
 * three minutes.
 */
export class Examiner {
  readonly #deps: ExaminerDeps;
  readonly #mints = new TtlCache<MintInfo>(MINT_CACHE_MS);

  constructor(deps: ExaminerDeps) {
    this.#deps = deps;
  }

  async examine(
    request: FacilitatorRequest,
    caller: FacilitatorKey,
  ): Promise<{ readonly kind: 'checked'; readonly order: CheckedPayment } | RefusedPayment> {
    const { network, managed } = this.#deps;
    try {
      checkScheme(request, network);
      const requested = readTerms(request.requirements, network, managed);
      checkPermitted(caller, requested);
      const wire = readTransaction(request.transaction);
      const { program, decimals } = await this.#mintOf(requested.asset, wire);
      const tokenAccount =
        ataOf(requested.payTo, requested.asset, program) ??
        refuse(INVALID, `${requested.payTo} cannot own an associated token account`);
      const terms = { ...requested, tokenProgram: program, decimals, tokenAccount };
      const checked = checkExact(wire, terms, this.#deps);
      if (!checked.ok) return { ...checked, kind: 'refused' };
      const { dialect } = request;
      return { kind: 'checked', order: { dialect, wire, terms, payment: checked.payment } };
    } catch (error) {
      if (!(error instanceof BrokenRule)) throw error;
      return { kind: 'refused', reason: error.reason, message: error.message, payer: null };
    }
  }

  /** A transaction without the mint's address breaks the rules for any mint, so no node is called. */
  async #mintOf(asset: string, wire: Uint8Array): Promise<Pick<MintInfo, 'program' | 'decimals'>> {
    if (readSigned(wire)?.accounts.includes(asset) !== true) return { program: TOKEN_PROGRAM, decimals: 0 };
    const { chain, tokenPolicy, warn } = this.#deps;
    const reading = this.#mints.get(asset, async () => {
      const { accounts } = await chain.accounts([asset]);
      return readMint(asset, accounts[0] ?? null);
    });
    const mint = await reading.catch((error: unknown) => {
      if (isDomainError(error, 'AssetRejected')) refuse(INVALID, error.message);
      warn(error, `the mint ${asset} cannot be read now`);
      return refuse(UNAVAILABLE, `the mint ${asset} cannot be read now`);
    });
    const refusal = mintRefusal(mint, tokenPolicy);
    return refusal === null ? mint : refuse(INVALID, `${asset}: ${refusal.message}`);
  }
}

/** This facilitator supports the requirements, and the payment accepts exactly these. @throws BrokenRule */
function checkScheme({ requirements, accepted, dialect }: FacilitatorRequest, network: Network): void {
  if (requirements.scheme !== 'exact' || accepted.scheme !== 'exact')
    refuse('unsupported_scheme', 'this facilitator supports the scheme "exact"');
  const names = dialect === 'v1' ? namesInVersion1(network) : [network.caip2];
  if (!names.includes(requirements.network))
    refuse('invalid_network', `this facilitator settles on ${names.join(', also named ')}`);
  if (!names.includes(accepted.network))
    refuse('invalid_exact_svm_network_mismatch', `the payment is for ${accepted.network}, not ${names[0]}`);
  if (dialect === 'v1') return;
  for (const field of ['asset', 'amount', 'payTo'] as const)
    if (accepted[field] !== requirements[field])
      refuse(INVALID, `paymentPayload.accepted.${field} differs from paymentRequirements.${field}`);
}

/** The caller's key permits this mint and this seller. @throws BrokenRule */
function checkPermitted(
  { name, mints, payTos }: FacilitatorKey,
  { asset, payTo }: Pick<Terms, 'asset' | 'payTo'>,
): void {
  if (mints !== null && !mints.includes(asset))
    refuse(INVALID, `the key ${name} does not permit the mint ${asset}`);
  if (payTos !== null && !payTos.includes(payTo))
    refuse(INVALID, `the key ${name} does not permit payments to ${payTo}`);
}

/** The terms, without the fields that are read from the chain. @throws BrokenRule */
function readTerms(
  { asset, amount, payTo, maxTimeoutSeconds, extra }: Requirements,
  network: Network,
  managed: readonly string[],
): Omit<Terms, 'tokenProgram' | 'decimals' | 'tokenAccount'> {
  const { feePayer, memo = null } = extra;
  for (const [field, address] of Object.entries({ asset, payTo }))
    if (!isAddress(address)) refuse(INVALID, `${field} is not an address: ${JSON.stringify(address)}`);
  const baseUnits = readAmount(amount);
  if (typeof feePayer !== 'string')
    refuse('invalid_exact_svm_payload_missing_fee_payer', 'extra.feePayer is missing');
  if (!managed.includes(feePayer))
    refuse(REASONS.feePayerNotManaged, `this facilitator does not sign for ${feePayer.slice(0, 44)}`);
  if (memo !== null && !isMemo(memo))
    refuse(
      INVALID,
      `extra.memo must be a string of at most ${MAX_MEMO_CHARACTERS} characters, without NUL or lone surrogates`,
    );
  return { network, asset, amount: baseUnits, payTo, feePayer, maxTimeoutSeconds, memo };
}

function readAmount(text: string): bigint {
  try {
    return parseAmount(text, 'amount');
  } catch (error) {
    if (!isDomainError(error)) throw error;
    refuse(INVALID, 'the amount must be a decimal string of base units, from 1 to 2^64-1');
  }
}

/** PostgreSQL JSON stores neither NUL nor lone surrogates. */
function isMemo(memo: unknown): memo is string {
  return (
    typeof memo === 'string' &&
    memo.length <= MAX_MEMO_CHARACTERS &&
    memo.isWellFormed() &&
    !memo.includes('\0')
  );
}

/** @throws BrokenRule */
function readTransaction(transaction: unknown): Uint8Array {
  if (typeof transaction !== 'string')
    refuse('invalid_exact_svm_payload_transaction', 'payload.transaction is missing');
  if (transaction.length > MAX_TRANSACTION_CHARACTERS)
    refuse(
      REASONS.undecodable,
      `payload.transaction has ${transaction.length} characters; ${MAX_TRANSACTION_CHARACTERS} are allowed`,
    );
  try {
    return base64.decode(transaction);
  } catch {
    refuse(REASONS.undecodable, 'payload.transaction is not standard base64');
  }
}
