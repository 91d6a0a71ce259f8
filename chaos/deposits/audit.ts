import type { IncomingTransfer } from '../../devkit/localstack/chain-truth.ts';
import type { Deposit, DepositEvent } from '../../src/client/client.ts';
import type { BlockHeader, NotCreditedReason } from '../../src/domain/deposit.ts';
import { chainFindings } from './audit-chain.ts';
import { feedFindings } from './audit-feed.ts';
import type { ChainBlock } from './chain.ts';

/** A leg that was paid: where it must have arrived. */
export interface PaidLeg {
  readonly signature: string;
  readonly wallet: string;
  /** `SOL` or the mint. */
  readonly asset: string;
  readonly userRef: string;
}

/** What of a listed asset is credited. */
export interface CreditTerms {
  readonly minimum: bigint;
}

/** The data that the audit compares. */
export interface DepositEvidence {
  /** What the payers made to be credited. */
  readonly paid: readonly PaidLeg[];
  readonly arrivals: readonly IncomingTransfer[];
  readonly blocks: readonly ChainBlock[];
  /** The assets that are listed. */
  readonly assets: ReadonlyMap<string, CreditTerms>;
  /** The account in which an asset arrives at a wallet. */
  readonly accountOf: (wallet: string, asset: string) => string;
  /** All deposits of the API. */
  readonly deposits: readonly Deposit[];
  /** The feed as it is read at the end, and as a follower read it all along. */
  readonly feed: readonly DepositEvent[];
  readonly followed: readonly DepositEvent[];
  /** The recorded headers, ascending. */
  readonly headers: readonly BlockHeader[];
  readonly cursor: { readonly slot: bigint; readonly blockhash: string } | null;
  readonly openGaps: number;
}

/** The differences between the blocks and the database. */
export interface DepositAudit {
  /** Number of deposits in the blocks. */
  readonly made: number;
  /** Those of them that are final with the exact amount. */
  readonly credited: number;
  /** Credits that must not exist: a second one for a deposit, or one without a deposit. */
  readonly duplicates: number;
  /** Deposits without the right credit. */
  readonly missed: number;
}

/** Judges the deposits of a run from its blocks; `findings` has a line for each thing that is wrong. */
export function auditDeposits(evidence: DepositEvidence): {
  readonly deposits: DepositAudit;
  readonly findings: readonly string[];
} {
  const verdicts = evidence.arrivals.map((arrival) => judge(arrival, evidence));
  const made = verdicts.filter(({ reason }) => reason === null);
  const credits = evidence.deposits.filter(({ state }) => state === 'final');
  const earned = new Set(made.flatMap(({ right }) => right.slice(0, 1)));
  const superfluous = credits.filter((one) => !earned.has(one));
  const missed = made.filter(({ right }) => right.length === 0);
  const findings = [
    ...payersFindings(evidence, made),
    ...verdicts.flatMap(({ fault }) => (fault === null ? [] : [fault])),
    ...superfluous.map((one) => `${one.signature} has a credit of ${one.amount} ${one.asset} too many`),
    ...unknownDeposits(evidence),
    ...feedFindings(evidence),
    ...chainFindings(evidence),
  ];
  const deposits = {
    made: made.length,
    credited: made.length - missed.length,
    duplicates: superfluous.length,
    missed: missed.length,
  };
  return { deposits, findings };
}

interface Verdict {
  readonly arrival: IncomingTransfer;
  /** Why the transfer must not be credited; null if it must be. */
  readonly reason: NotCreditedReason | null;
  /** Credits of the exact amount. */
  readonly right: readonly Deposit[];
  readonly fault: string | null;
}

function judge(arrival: IncomingTransfer, evidence: DepositEvidence): Verdict {
  const reason = reasonOf(arrival, evidence);
  const rows = evidence.deposits.filter((row) => row.state !== 'dropped' && isOf(row, arrival));
  const userRef = evidence.paid.find(({ wallet }) => wallet === arrival.wallet)?.userRef ?? null;
  const right = rows.filter(
    (row) => isExact(row, arrival) && row.userRef === userRef && row.state === 'final',
  );
  const [row, ...more] = rows;
  const agrees =
    row !== undefined &&
    more.length === 0 &&
    isExact(row, arrival) &&
    row.reason === reason &&
    (reason === null ? right.length === 1 : row.state === 'not_credited');
  const seen = rows.map((one) => `${one.amount} ${one.state} ${one.reason ?? ''} at ${one.blockhash}`);
  const { signature, account, asset, amount, blockhash } = arrival;
  const fault = `${signature} brought ${amount} ${asset} to ${account} at ${blockhash} (${reason ?? 'good'}), recorded: ${seen.join(', ') || 'nothing'}`;
  return { arrival, reason, right, fault: agrees ? null : fault };
}

/** Source: docs/deposits.md "Why a deposit is not credited", as far as a run makes such things. */
function reasonOf(
  { wallet, account, asset, amount }: IncomingTransfer,
  evidence: DepositEvidence,
): NotCreditedReason | null {
  if (account !== evidence.accountOf(wallet, asset)) return 'not_associated_account';
  const terms = evidence.assets.get(asset);
  if (terms === undefined) return 'unknown_mint';
  return amount < terms.minimum ? 'below_minimum' : null;
}

function isOf(row: Deposit, { signature, account, asset }: IncomingTransfer): boolean {
  return row.signature === signature && row.account === account && row.asset === asset;
}

function isExact(row: Deposit, { amount, wallet, slot, blockhash }: IncomingTransfer): boolean {
  return (
    row.amount === amount.toString() &&
    row.wallet === wallet &&
    row.slot === slot.toString() &&
    row.blockhash === blockhash
  );
}

/** The blocks must show just what the payers mean to have made. */
function payersFindings({ paid }: DepositEvidence, made: readonly Verdict[]): readonly string[] {
  const meant = new Set(paid.map(({ signature, wallet, asset }) => `${signature} ${wallet} ${asset}`));
  const shown = new Set(
    made.map(({ arrival: { signature, wallet, asset } }) => `${signature} ${wallet} ${asset}`),
  );
  return [
    ...[...meant].filter((one) => !shown.has(one)).map((one) => `the blocks do not show the deposit ${one}`),
    ...[...shown].filter((one) => !meant.has(one)).map((one) => `the run made no deposit ${one}`),
  ];
}

/** Recorded deposits that are not in the blocks, except dropped ones. */
function unknownDeposits({ deposits, arrivals }: DepositEvidence): readonly string[] {
  const known = new Set(arrivals.map(({ signature, account, asset }) => `${signature} ${account} ${asset}`));
  return deposits
    .filter(({ state, signature, account, asset }) => {
      return state !== 'dropped' && !known.has(`${signature} ${account} ${asset}`);
    })
    .map(({ id, signature, state }) => `deposit ${id} of ${signature} is ${state}, and no block shows it`);
}
