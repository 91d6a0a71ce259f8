import { base64 } from '@scure/base';
import { isDomainError, messageOf } from '../../domain/errors.ts';
import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import { type MintInfo, readMint } from '../../solana/tokens/mint.ts';
import { TOKEN_PROGRAM } from '../../solana/tx/programs.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import type { CheckedPayment } from '../record.ts';
import { checkExact } from '../rules/exact.ts';
import { mintRefusal } from '../rules/mint-policy.ts';
import { REASONS } from '../rules/reasons.ts';
import type { Refused } from '../terms.ts';
import type { FacilitatorDeps } from './deps.ts';
import type { FacilitatorRequest } from './request.ts';
import { readRequirements, refused, withMint } from './requirements.ts';

export type Examined =
  | { readonly ok: true; readonly order: CheckedPayment }
  | ({ readonly ok: false } & Refused);

/** Becomes `unexpected_verify_error` or `unexpected_settle_error`: nothing was done, and the caller may retry. */
export const UNAVAILABLE = 'unavailable';

/** Mint extensions can change. The check of the received amount does not depend on this cache. */
const MINT_KEPT_MS = 180_000;
/** 1232 bytes in base64. */
const LONGEST_TRANSACTION = 1_644;

/** The local rules of scheme `exact`. Reads only the mint from the chain, at most once in three minutes. */
export class Examiner {
  readonly #deps: Pick<FacilitatorDeps, 'chain' | 'network' | 'limits' | 'tokenPolicy'>;
  readonly #managed: readonly string[];
  readonly #mints = new TtlCache<MintInfo>(MINT_KEPT_MS);

  constructor(
    deps: Pick<
      FacilitatorDeps,
      'chain' | 'network' | 'limits' | 'tokenPolicy' | 'feePayers' | 'retiredFeePayers'
    >,
  ) {
    this.#deps = deps;
    this.#managed = [...deps.feePayers, ...deps.retiredFeePayers];
  }

  async examine(request: FacilitatorRequest): Promise<Examined> {
    const asked = readRequirements(request, this.#deps.network, this.#managed);
    if (!asked.ok) return asked;
    const wire = readTransaction(request.transaction);
    if (!(wire instanceof Uint8Array)) return wire;
    const mint = await this.#mintOf(asked.terms.asset, wire);
    if ('ok' in mint) return mint;
    const whole = withMint(asked.terms, mint);
    if (!whole.ok) return whole;
    const { terms } = whole;
    const checked = checkExact(wire, terms, { managed: this.#managed, limits: this.#deps.limits });
    if (!checked.ok) return checked;
    return { ok: true, order: { dialect: request.dialect, wire, terms, payment: checked.payment } };
  }

  /** A transaction without the mint's address breaks the rules for any mint, so no node is called. */
  async #mintOf(
    asset: string,
    wire: Uint8Array,
  ): Promise<Pick<MintInfo, 'program' | 'decimals'> | ({ readonly ok: false } & Refused)> {
    if (readSigned(wire)?.accounts.includes(asset) !== true) return { program: TOKEN_PROGRAM, decimals: 0 };
    try {
      const mint = await this.#mints.get(asset, async () => {
        const { accounts } = await this.#deps.chain.accounts([asset]);
        return readMint(asset, accounts[0] ?? null);
      });
      const refusal = mintRefusal(mint, this.#deps.tokenPolicy);
      return refusal === null
        ? mint
        : refused('invalid_payment_requirements', `${asset}: ${refusal.message}`);
    } catch (error) {
      if (isDomainError(error, 'AssetRejected'))
        return refused('invalid_payment_requirements', error.message);
      return refused(UNAVAILABLE, `the mint ${asset} cannot be read now: ${messageOf(error)}`);
    }
  }
}

function readTransaction(transaction: unknown): Uint8Array | ({ readonly ok: false } & Refused) {
  if (typeof transaction !== 'string')
    return refused('invalid_exact_svm_payload_transaction', 'payload.transaction is missing');
  if (transaction.length > LONGEST_TRANSACTION)
    return refused(REASONS.undecodable, `payload.transaction has ${transaction.length} characters`);
  try {
    return base64.decode(transaction);
  } catch {
    return refused(REASONS.undecodable, 'payload.transaction is not standard base64');
  }
}
