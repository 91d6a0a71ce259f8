import { base64 } from '@scure/base';
import { checkNativeSides } from '../domain/balance-guard.ts';
import { type ErrorCode, isDomainError } from '../domain/errors.ts';
import type { StatusReason } from '../domain/withdrawal.ts';
import type { NewAttempt, ReservationInput } from '../ledger/attempts.ts';
import type { WithdrawalRow } from '../ledger/withdrawals.ts';
import type { Chain } from '../solana/chain.ts';
import { type FeePlanner, type TransferDraft, TransferWouldFail } from '../solana/fees.ts';
import { composeTransfer } from '../solana/transactions.ts';
import { type Payee, type PayeeRules, type Refusal, readPayee } from './payee.ts';
import { describeFailure } from './program-errors.ts';

/** An attempt ready to be written, with the money it needs, or why there is none. */
export type Composition =
  | {
      readonly kind: 'composed';
      readonly attempt: NewAttempt;
      readonly reservation: ReservationInput;
    }
  | Refusal;

export interface ComposerDeps {
  readonly chain: Chain;
  readonly fees: FeePlanner;
  readonly rules: PayeeRules;
}

/** Turns a withdrawal into the message of its n-th attempt. Writes nothing. */
export class Composer {
  readonly #deps: ComposerDeps;

  constructor(deps: ComposerDeps) {
    this.#deps = deps;
  }

  /** `salt` moves the compute-unit price by as many micro-lamports, so that equal terms never make equal messages. */
  async compose(row: WithdrawalRow, n: number, salt: bigint): Promise<Composition> {
    try {
      return await this.#compose(row, n, salt);
    } catch (error) {
      const reason = refusalOf(error);
      if (reason === null) throw error;
      return { kind: 'rejected', reason };
    }
  }

  async #compose(row: WithdrawalRow, n: number, salt: bigint): Promise<Composition> {
    const { chain, fees, rules } = this.#deps;
    const payee = await readPayee(chain, rules, row);
    if (payee.kind !== 'payable') return payee;
    const lifetime = await chain.latestBlockhash();
    const plan = await fees.plan(this.#draft(row, payee, lifetime.blockhash), n, salt);
    const rentLamports = payee.token?.rentLamports ?? 0n;
    const rentMinimum = await chain.rentMinimum(0);
    const refusal = nativeRefusal(row, payee, plan.feeLamports, rentMinimum);
    if (refusal !== null) return refusal;
    const { message, messageHash } = composeTransfer(plan.spec);
    const attempt: NewAttempt = {
      withdrawalId: row.id,
      n,
      wallet: rules.hotWallet,
      message: base64.encode(message),
      messageHash,
      blockhash: lifetime.blockhash,
      blockhashSlot: lifetime.slot,
      blockhashHeight: lifetime.height,
      lastValidBlockHeight: lifetime.lastValidBlockHeight,
      computeUnitLimit: plan.spec.computeUnitLimit,
      computeUnitPriceMicroLamports: plan.spec.computeUnitPriceMicroLamports,
      feeLamports: plan.feeLamports,
      rentLamports,
    };
    return {
      kind: 'composed',
      attempt,
      reservation: reservationFor(row, rules.hotWallet, payee, plan.feeLamports, rentMinimum),
    };
  }

  #draft(row: WithdrawalRow, payee: Payee, blockhash: string): TransferDraft {
    return {
      asset: row.asset,
      amount: row.amount,
      source: this.#deps.rules.hotWallet,
      destination: row.destination,
      memo: row.memo ?? (payee.token?.memoRequired === true ? row.id : null),
      token: payee.token?.transfer ?? null,
      blockhash,
    };
  }
}

/** Errors about the withdrawal itself, which no retry heals. */
const REFUSALS: Partial<Record<ErrorCode, string>> = {
  InvalidRequest: 'invalid_request',
  AssetRejected: 'asset_rejected',
  DestinationRejected: 'destination_rejected',
  AmountRejected: 'amount_rejected',
};

function refusalOf(error: unknown): StatusReason | null {
  if (error instanceof TransferWouldFail)
    return { code: 'would_fail', message: describeFailure(error.error, error.tried) };
  const code = isDomainError(error) ? REFUSALS[error.code] : undefined;
  return code === undefined || !isDomainError(error) ? null : { code, message: error.message };
}

function nativeRefusal(
  row: WithdrawalRow,
  payee: Payee,
  feeLamports: bigint,
  rentMinimumLamports: bigint,
): Refusal | null {
  const answer = checkNativeSides({
    hotLamports: payee.hotLamports,
    amountLamports: payee.token === null ? row.amount : 0n,
    feeLamports,
    rentLamports: payee.token?.rentLamports ?? 0n,
    destinationLamports: payee.destinationLamports,
    rentMinimumLamports,
  });
  if (answer.ok) return null;
  return { kind: answer.kind === 'funds' ? 'awaiting_funds' : 'rejected', reason: answer.reason };
}

function reservationFor(
  row: WithdrawalRow,
  wallet: string,
  payee: Payee,
  feeLamports: bigint,
  rentMinimum: bigint,
): ReservationInput {
  const { token, hotLamports, slot } = payee;
  const lamports = feeLamports + (token === null ? row.amount : token.rentLamports);
  const native = { asset: 'SOL', amount: lamports, finalizedBalance: hotLamports, keep: rentMinimum };
  const needs =
    token === null
      ? [native]
      : [native, { asset: row.asset, amount: row.amount, finalizedBalance: token.hotAmount, keep: 0n }];
  return { wallet, observedSlot: slot, needs };
}
