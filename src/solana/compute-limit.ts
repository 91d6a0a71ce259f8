import { DomainError } from '../domain/errors.ts';
import { ataBump } from './ata.ts';
import type { Chain, Simulation } from './chain.ts';
import { MAX_COMPUTE_UNITS } from './priority-fee.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';
import { assembleTransaction, type TransferDraft } from './transactions.ts';
import { TtlCache } from './ttl-cache.ts';

/**
 * Why a transfer would not go through, as simulated on the newest confirmed block: `short` = the hot wallet lacks money there,
 * `refused` = a program says no. `error` is the chain's text, `tried` the message.
 */
export class TransferWouldFail extends Error {
  override readonly name = 'TransferWouldFail';
  readonly kind: 'short' | 'refused';
  readonly error: string;
  readonly tried: Uint8Array;

  constructor(kind: 'short' | 'refused', error: string, tried: Uint8Array) {
    super(`the transfer would fail: ${error}`);
    this.kind = kind;
    this.error = error;
    this.tried = tried;
  }
}

const SHARED_MS = 600_000;
const MARGIN_PERCENT = 20n;
const UNITS_PER_BUMP = 1_500n;

/**
 * Compute-unit limits found by simulation, once for all transfers of one shape, and each time for those with a hook.
 * Source: exchange-interface: Prioritization fee rules 3.
 */
export class ComputeLimits {
  readonly #chain: Chain;
  readonly #units = new TtlCache<bigint>(SHARED_MS);

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  /**
   * The units that the transfer needs, plus a margin; `trial` is its message with the highest limit.
   * Throws {@link TransferWouldFail}, and DomainError NodeFault where the simulation failed for a reason that may pass.
   */
  async limitFor(draft: TransferDraft, trial: Uint8Array): Promise<number> {
    const extra = bumpUnits(draft);
    const simulated = async (): Promise<bigint> => (await this.#simulate(trial)) - extra;
    // A hook is foreign code: what it does for one destination says nothing about another.
    const hooked = draft.token !== null && draft.token.hookAccounts.length > 0;
    const units = await (hooked ? simulated() : this.#units.get(shapeOf(draft), simulated));
    const withMargin = ((units + extra) * (100n + MARGIN_PERCENT) + 99n) / 100n;
    return Math.min(MAX_COMPUTE_UNITS, Number(withMargin));
  }

  async #simulate(message: Uint8Array): Promise<bigint> {
    const { raw } = assembleTransaction(message, new Uint8Array(64));
    const simulation = await this.#chain.simulate(raw);
    const { error, logs, unitsConsumed } = simulation;
    if (error !== null) {
      const kind = failureKind(error, simulation);
      if (kind !== 'passing') throw new TransferWouldFail(kind, error, message);
      throw new DomainError('NodeFault', `the transfer would fail: ${error}`, { logs });
    }
    if (unitsConsumed === null)
      throw new DomainError('NodeFault', 'simulateTransaction: unitsConsumed is missing');
    return unitsConsumed;
  }
}

/** Transfers of one shape use the same units, but for the search of the account's address: see {@link bumpUnits}. */
function shapeOf({ token, memo, nonceAccount }: TransferDraft): string {
  const size = memo === null ? 0 : Buffer.byteLength(memo, 'utf8');
  const advances = nonceAccount !== undefined;
  if (token === null) return `SOL ${size} ${advances}`;
  const { mint, createAta, expectedFee } = token;
  return `${mint} ${size} ${createAta} ${expectedFee !== null} ${advances}`;
}

/** What the ATA program spends on finding the address it makes: the runtime charges 1,500 units for each bump tried. */
function bumpUnits({ token, destination }: TransferDraft): bigint {
  if (token === null || !token.createAta) return 0n;
  return UNITS_PER_BUMP * BigInt(256 - ataBump(destination, token.mint, token.program));
}

// The fee payer, which is the first account of every message of ours, cannot pay fee and rent.
const PAYER_SHORT =
  /^(AccountNotFound|InsufficientFundsForFee|InvalidAccountForFee|\{"InsufficientFundsForRent":\{"account_index":0\}\})$/;
// System and token programs say 1 for "insufficient funds". A hook may mean anything by it.
const INSUFFICIENT_FUNDS = /^\{"InstructionError":\[[0-9]+,(\{"Custom":1\}|"InsufficientFunds")\]\}$/;
// Token-2022's FeeMismatch: the epoch changed between reading the mint's fee and trying the transfer.
const FEE_OF_ANOTHER_EPOCH = /^\{"InstructionError":\[[0-9]+,\{"Custom":32\}\]\}$/;
const REFUSAL = /^\{"Ins(tructionError|ufficientFundsForRent)":/;
const MONEY_PROGRAMS: ReadonlySet<string> = new Set([SYSTEM_PROGRAM, TOKEN_PROGRAM, TOKEN_2022_PROGRAM]);

/** `passing`: the same transfer may go through a moment later. */
export function failureKind(
  error: string,
  { logs }: Pick<Simulation, 'logs'>,
): 'short' | 'refused' | 'passing' {
  if (PAYER_SHORT.test(error)) return 'short';
  const ofMoney = MONEY_PROGRAMS.has(failedProgram(logs) ?? SYSTEM_PROGRAM);
  if (ofMoney && INSUFFICIENT_FUNDS.test(error)) return 'short';
  if (ofMoney && FEE_OF_ANOTHER_EPOCH.test(error)) return 'passing';
  return REFUSAL.test(error) ? 'refused' : 'passing';
}

/** The innermost program that failed: its line comes before those of its callers. Null where the logs do not tell. */
function failedProgram(logs: readonly string[]): string | null {
  const lines = logs.map((line) => /^Program (\w+) failed/.exec(line)?.[1]);
  return lines.find((program) => program !== undefined) ?? null;
}
