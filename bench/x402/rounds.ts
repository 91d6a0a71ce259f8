import { round, type Side } from './side.ts';

const FIGURES = {
  perSecond: (side: Side) => side.perSecond,
  p50Ms: (side: Side) => side.p50Ms,
  p95Ms: (side: Side) => side.p95Ms,
  cpuMs: (side: Side) => side.untilAnswer.cpuMs,
  cpuMsToFinal: (side: Side) => side.untilFinal.cpuMs,
  rpcCalls: (side: Side) => side.untilAnswer.rpcCalls,
};
type Figure = keyof typeof FIGURES;

/** The most important figures of one seller in one round. */
export type RoundFigures = Readonly<Record<Figure, number>>;

/** Both sellers, and ours divided by theirs. */
export interface RoundPair {
  readonly ours: RoundFigures;
  readonly theirs: RoundFigures;
  readonly ratio: RoundFigures;
}

/** The rounds of one load, or its sustained turns. */
export interface Rounds {
  readonly rounds: readonly RoundPair[];
  /** Greatest less least figure of the rounds, divided by their mean; null for one round. */
  readonly noise: RoundPair | null;
}

/** Takes the sides of each round in the order of the rounds. */
export function roundsOf(ours: readonly Side[], theirs: readonly Side[]): Rounds {
  const rounds = ours.flatMap((own, index) => {
    const peer = theirs[index];
    return peer === undefined ? [] : [pairOf(own, peer)];
  });
  return { rounds, noise: rounds.length < 2 ? null : noiseOf(rounds) };
}

function pairOf(ours: Side, theirs: Side): RoundPair {
  return {
    ours: figures((name) => FIGURES[name](ours)),
    theirs: figures((name) => FIGURES[name](theirs)),
    ratio: figures((name) => FIGURES[name](ours) / FIGURES[name](theirs)),
  };
}

function noiseOf(rounds: readonly RoundPair[]): RoundPair {
  const noise = (part: keyof RoundPair) =>
    figures((name) => spread(rounds.map(({ [part]: figuresOfRound }) => figuresOfRound[name])));
  return { ours: noise('ours'), theirs: noise('theirs'), ratio: noise('ratio') };
}

function spread(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return (Math.max(...values) - Math.min(...values)) / mean;
}

function figures(value: (name: Figure) => number): RoundFigures {
  return {
    perSecond: round(value('perSecond')),
    p50Ms: round(value('p50Ms')),
    p95Ms: round(value('p95Ms')),
    cpuMs: round(value('cpuMs')),
    cpuMsToFinal: round(value('cpuMsToFinal')),
    rpcCalls: round(value('rpcCalls')),
  };
}
