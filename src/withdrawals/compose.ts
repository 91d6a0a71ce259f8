import { base64 } from '@scure/base';
import type { Lifetime } from '../domain/attempt.ts';
import type { NewAttempt, ReservationInput } from '../ledger/settlements/attempts.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { AttemptPosition, Composition } from '../settlement/kind.ts';
import { type Lifetimes, lifetimeColumns } from '../settlement/lifetimes.ts';
import type { SigningBounds } from '../signing/checks.ts';
import { checkMessage, type SigningRequest } from '../signing/policy/withdrawal.ts';
import type { Chain } from '../solana/chain.ts';
import { TransferWouldFail } from '../solana/tx/compute-limit.ts';
import type { FeePlan, FeePlanner } from '../solana/tx/fees.ts';
import { messageHashOf } from '../solana/tx/message.ts';
import type { TransferDraft } from '../solana/tx/transfer.ts';
import { type Payee, type PayeeRules, readPayee } from './payee.ts';
import { failureRefusal, nativeRefusal, refusalOf, simulationFailure, tokenShortage } from './refusals.ts';

export interface ComposerDeps {
  readonly chain: Chain;
  readonly fees: FeePlanner;
  readonly lifetimes: Lifetimes;
  readonly rules: PayeeRules;
  /** Limits of the signer, so that no message is stored that the signer would refuse. */
  readonly bounds: SigningBounds;
}

/** Composes the messages of withdrawals. Writes nothing. */
export class Composer {
  readonly #deps: ComposerDeps;

  constructor(deps: ComposerDeps) {
    this.#deps = deps;
  }

  compose(row: WithdrawalRow, position: AttemptPosition): Promise<Composition> {
    return this.#compose(row, position).catch(refusalOf);
  }

  async #compose(
    row: WithdrawalRow,
    { n, salt, lastPrice, minUnits }: AttemptPosition,
  ): Promise<Composition> {
    const { chain, fees, lifetimes, rules } = this.#deps;
    const payee = await readPayee(chain, rules, row);
    if (payee.kind !== 'payable') return payee;
    const shortage = tokenShortage(row, payee);
    if (shortage !== null) return shortage;
    const rentMinimum = await chain.rentMinimum(0);
    // Check the amount first: its simulation would fail too, but would not show that the failure is permanent.
    const amountRefusal = nativeRefusal(row, payee, 0n, rentMinimum);
    if (amountRefusal?.kind === 'rejected') return amountRefusal;
    const lifetime = await lifetimes.next(salt);
    if (lifetime.kind === 'held') return lifetime;
    const draft = this.#draft(row, payee, lifetime);
    const basis = { ...payee.basis, ...(minUnits === undefined ? {} : { minUnits }) };
    const plan = await fees.plan(draft, lastPrice, salt, basis).catch(simulationFailure);
    const isFailing = plan instanceof TransferWouldFail;
    const refusal = nativeRefusal(row, payee, isFailing ? 0n : plan.feeLamports, rentMinimum);
    if (refusal !== null) return refusal;
    if (isFailing) return failureRefusal(plan);
    const reservation = reservationFor(row, rules.hotWallet, payee, plan.feeLamports, rentMinimum);
    return {
      kind: 'composed',
      attempt: this.#attempt(row, n, payee, plan, lifetime),
      reservations: [reservation],
    };
  }

  /** Throws SigningRefused if the signer's own check would refuse the message. */
  #attempt(
    row: WithdrawalRow,
    n: number,
    payee: Payee,
    { message, feeLamports, computeUnitLimit, computeUnitPriceMicroLamports }: FeePlan,
    lifetime: Lifetime,
  ): NewAttempt {
    const { hotWallet } = this.#deps.rules;
    const rentLamports = payee.token?.rentLamports ?? 0n;
    const createsAccount = payee.token?.transfer.createAta ?? false;
    const cost = { feeLamports, rentLamports, createsAccount };
    checkMessage(message, { ...requestFor(row, hotWallet, cost), ...nonceOf(lifetime) }, this.#deps.bounds);
    return {
      settlementId: row.id,
      n,
      signers: [hotWallet],
      message: base64.encode(message),
      messageHash: messageHashOf(message),
      ...lifetimeColumns(lifetime),
      bareAdvance: false,
      computeUnitLimit,
      computeUnitPriceMicroLamports,
      ...cost,
    };
  }

  #draft(row: WithdrawalRow, payee: Payee, lifetime: Lifetime): TransferDraft {
    return {
      asset: row.asset,
      amount: row.amount,
      source: this.#deps.rules.hotWallet,
      destination: row.destination,
      memo: row.memo ?? (payee.token?.memoRequired === true ? row.id : null),
      token: payee.token?.transfer ?? null,
      blockhash: lifetime.kind === 'nonce' ? lifetime.nonce : lifetime.blockhash,
      ...nonceOf(lifetime),
      ...(payee.isVault ? { toVault: true } : {}),
    };
  }
}

function nonceOf(lifetime: Lifetime): { readonly nonceAccount?: string } {
  return lifetime.kind === 'nonce' ? { nonceAccount: lifetime.account } : {};
}

function requestFor(
  { id, asset, amount, destination, memo }: WithdrawalRow,
  signer: string,
  cost: Pick<NewAttempt, 'feeLamports' | 'rentLamports'> & { readonly createsAccount: boolean },
): SigningRequest {
  return {
    withdrawalId: id,
    signer,
    asset,
    amount: amount.toString(),
    destination,
    memo,
    maxFeeLamports: cost.feeLamports.toString(),
    maxRentLamports: cost.rentLamports.toString(),
    createsAccount: cost.createsAccount,
  };
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
