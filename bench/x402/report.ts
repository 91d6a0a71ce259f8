import { total } from '../tally.ts';
import { ownCpuMs } from './costs.ts';
import type { Idle } from './idle.ts';
import type { Measurement, SaleCount } from './measure.ts';
import { PENDING } from './payments.ts';
import { LEVELS, type LoadLevel, ONE_WALLET_LEVELS, type Plan } from './plan.ts';
import { type Rounds, roundsOf } from './rounds.ts';
import { round, type Side, sideOf } from './side.ts';
import type { Turn } from './turns.ts';

interface Pair {
  readonly ours: Side;
  readonly theirs: Side;
}

/** All rounds together, and each for itself: a trend over the rounds shows that the warm-up was too short. */
interface MeasuredPair extends Pair, Rounds {}

/** Costs of a second without payments, and the slot time of the chain. */
interface IdleReport {
  readonly cpuMsPerSecond: number;
  readonly rpcPerSecond: number;
  readonly besideRpcPerSecond: number;
  readonly peerCpuMsPerSecond: number;
  readonly peerRpcPerSecond: number;
  readonly slotMs: number;
}

/** Sales of one wallet that buys at one target. */
export interface OneWalletSide {
  readonly sold: number;
  readonly of: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly notSold: Side['notServed'];
}

/** The most important figures of many wallets. Ratios are ours divided by theirs; docs/figures.md defines each key. */
export interface Headline {
  readonly p50Ratio: number;
  readonly p95Ratio: number;
  readonly p50Ratio16: number;
  readonly throughputRatio16: number;
  readonly throughputRatio64: number;
  readonly sustainedRatio64: number;
  readonly sustainedPerSecond: number;
  readonly peerSustainedPerSecond: number;
  readonly cpuRatio: number;
  readonly cpuRatioToFinal: number;
  readonly machineCpuRatioToFinal: number;
  readonly cpuMsPerPayment: number;
  readonly cpuMsToFinal: number;
  readonly peerCpuMsPerPayment: number;
  readonly peerCpuMsToFinal: number;
  readonly rpcCallsPerPayment: number;
  readonly rpcCallsToFinal: number;
  readonly peerRpcCallsPerPayment: number;
  readonly notificationsPerPayment: number;
  readonly paymentsPerSecond: number;
  readonly peerPaymentsPerSecond: number;
}

export interface OneWalletReport extends Accounts {
  readonly levels: readonly (Record<Turn['seller'], OneWalletSide> & { readonly inFlight: number })[];
}

interface Accounts {
  readonly accounts: Readonly<Record<Turn['seller'], SaleCount>>;
}

/** The figures of many wallets: null without them, like `oneWallet`. */
export interface Report extends Partial<Headline> {
  readonly chain: Plan['chain'];
  readonly idle: IdleReport;
  readonly many:
    | ({
        readonly levels: readonly (MeasuredPair & { readonly inFlight: LoadLevel })[];
        readonly sustained: MeasuredPair;
      } & Accounts)
    | null;
  readonly oneWallet: OneWalletReport | null;
  /** Defects that the run found; the command fails if there is one. */
  readonly faults: readonly string[];
}

export function reportOf({ many, oneWallet, idle }: Measurement, { chain }: Pick<Plan, 'chain'>): Report {
  const faults = [
    ...(many === null ? [] : faultsOfMany(many)),
    ...(oneWallet === null ? [] : faultsOf('one wallet', oneWallet.accounts)),
  ];
  const sides = many === null ? null : manyOf(many);
  return {
    ...(sides === null ? {} : headlineOf(sides)),
    chain,
    idle: idleOf(idle),
    many: sides,
    oneWallet: oneWallet === null ? null : oneWalletOf(oneWallet),
    faults,
  };
}

function manyOf({ levels, sustained, accounts }: NonNullable<Measurement['many']>) {
  return {
    levels: LEVELS.map((inFlight) => ({
      inFlight,
      ...pairOf(levels.filter((turn) => turn.inFlight === inFlight)),
    })),
    sustained: pairOf(sustained),
    accounts,
  };
}

function pairOf(turns: readonly Turn[]): MeasuredPair {
  const turnsOf = (name: Turn['seller']) => turns.filter(({ seller }) => seller === name);
  const [ours, theirs] = [turnsOf('ours'), turnsOf('theirs')];
  const eachSide = (some: readonly Turn[]) => some.map((turn) => sideOf([turn]));
  return { ours: sideOf(ours), theirs: sideOf(theirs), ...roundsOf(eachSide(ours), eachSide(theirs)) };
}

function idleOf({ costs: { ours, theirs }, seconds, slotMs }: Idle): IdleReport {
  return {
    cpuMsPerSecond: round(ownCpuMs(ours) / seconds),
    rpcPerSecond: round(total(ours.rpc) / seconds),
    besideRpcPerSecond: round(total(ours.besideRpc) / seconds),
    peerCpuMsPerSecond: round(ownCpuMs(theirs) / seconds),
    peerRpcPerSecond: round(total(theirs.rpc) / seconds),
    slotMs: round(slotMs),
  };
}

function headlineOf({ levels, sustained }: ReturnType<typeof manyOf>): Headline {
  const at = (level: LoadLevel): Pair => {
    const found = levels.find(({ inFlight }) => inFlight === level);
    if (found === undefined) throw new Error(`nothing was measured with ${level} in flight`);
    return found;
  };
  const [one, some, many] = [at(1), at(16), at(64)];
  const ratio = ({ ours, theirs }: Pair, figure: (side: Side) => number) =>
    round(figure(ours) / figure(theirs));
  return {
    p50Ratio: ratio(one, ({ p50Ms }) => p50Ms),
    p95Ratio: ratio(one, ({ p95Ms }) => p95Ms),
    p50Ratio16: ratio(some, ({ p50Ms }) => p50Ms),
    throughputRatio16: ratio(some, ({ perSecond }) => perSecond),
    throughputRatio64: ratio(many, ({ perSecond }) => perSecond),
    sustainedRatio64: ratio(sustained, ({ perSecond }) => perSecond),
    sustainedPerSecond: sustained.ours.perSecond,
    peerSustainedPerSecond: sustained.theirs.perSecond,
    cpuRatio: ratio(many, ({ untilAnswer }) => untilAnswer.cpuMs),
    cpuRatioToFinal: ratio(sustained, ({ untilFinal }) => untilFinal.cpuMs),
    machineCpuRatioToFinal: ratio(sustained, ({ untilFinal }) => untilFinal.machineCpuMs),
    cpuMsPerPayment: many.ours.untilAnswer.cpuMs,
    cpuMsToFinal: sustained.ours.untilFinal.cpuMs,
    peerCpuMsPerPayment: many.theirs.untilAnswer.cpuMs,
    peerCpuMsToFinal: sustained.theirs.untilFinal.cpuMs,
    rpcCallsPerPayment: some.ours.untilAnswer.rpcCalls,
    rpcCallsToFinal: some.ours.untilFinal.rpcCalls,
    peerRpcCallsPerPayment: some.theirs.untilAnswer.rpcCalls,
    notificationsPerPayment: some.ours.untilAnswer.notifications,
    paymentsPerSecond: some.ours.perSecond,
    peerPaymentsPerSecond: some.theirs.perSecond,
  };
}

function oneWalletOf({ turns, accounts }: NonNullable<Measurement['oneWallet']>): OneWalletReport {
  const levels = ONE_WALLET_LEVELS.map((inFlight) => {
    const { ours, theirs } = pairOf(turns.filter((turn) => turn.inFlight === inFlight));
    return { inFlight, ours: soldBy(ours), theirs: soldBy(theirs) };
  });
  return { levels, accounts };
}

function soldBy({ served, payments, perSecond, p50Ms, p95Ms, notServed }: Side): OneWalletSide {
  return { sold: served, of: payments, perSecond, p50Ms, p95Ms, notSold: notServed };
}

/** With many wallets every payment is settled: the others are answers that a buyer must never get. */
function faultsOfMany({ levels, sustained, accounts }: NonNullable<Measurement['many']>): string[] {
  const faults = faultsOf('many wallets', accounts);
  for (const { seller, outcomes } of [...levels, ...sustained])
    for (const [outcome, count] of Object.entries(outcomes))
      if (outcome !== 'served' && outcome !== PENDING) faults.push(`${seller}: ${count} answers ${outcome}`);
  for (const [seller, { made, finalized }] of Object.entries(accounts))
    if (finalized < made) faults.push(`${seller}: ${finalized} of ${made} payments are finalized`);
  return faults;
}

function faultsOf(what: string, accounts: Accounts['accounts']): string[] {
  return Object.entries(accounts).flatMap(([seller, { made, sold, finalized }]) => {
    if (sold > finalized)
      return [`${what}, ${seller}: sold ${sold}, but only ${finalized} payments are finalized`];
    if (finalized > made)
      return [`${what}, ${seller}: ${made} payments were made, but ${finalized} are finalized`];
    return [];
  });
}
