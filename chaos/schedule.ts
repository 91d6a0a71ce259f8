import fc from 'fast-check';
import {
  FAULT_KINDS,
  type FaultLane,
  type FaultName,
  faultNames,
  isNodeLane,
  LIE_PATIENCE_MS,
} from './kinds.ts';

/** One fault: when it strikes and when it is healed, in milliseconds since the start. */
export interface Injection {
  readonly kind: FaultName;
  readonly atMs: number;
  readonly untilMs: number;
  /** Which node, for faults of a node; 0 for others. */
  readonly node: number;
  /** 0 to 999,999: the free choice inside a kind (how many slots, which way). */
  readonly draw: number;
}

export interface SchedulePlan {
  readonly seed: number;
  readonly minutes: number;
  readonly nodes: number;
  /** How many; the faults of the scan are drawn only where there are some. */
  readonly deposits: number;
  /** How many; the faults of sales are drawn only where there are some. */
  readonly payments: number;
}

const MEAN_GAP_MS = 8_000;
const LAST_SHARE = 0.92;
const CLOSER_STEP = 0.05;
const DRAWS = 1_000_000;

/** The faults of a run: the same plan gives the same schedule, and every kind occurs. Nothing is injected after `minutes`. */
export function drawSchedule(plan: SchedulePlan): readonly Injection[] {
  const endMs = plan.minutes * 60_000;
  const names = faultNames({ deposits: plan.deposits > 0, payments: plan.payments > 0 });
  const rounds = Math.max(1, Math.round(endMs / MEAN_GAP_MS / names.length));
  const gapMs = (endMs * LAST_SHARE) / (rounds * names.length);
  const drawn = sample(plan.seed, roundsOf(names, rounds));
  // Faults that had to wait for their lane may end late: then all strike a little closer together.
  for (let closer = 1; closer > 0; closer -= CLOSER_STEP) {
    const placed = place(drawn, gapMs * closer, endMs, plan.nodes);
    if (Math.max(...placed.map(({ untilMs }) => untilMs)) <= endMs) return placed;
  }
  return scaleTo(place(drawn, gapMs, endMs, plan.nodes), endMs);
}

function place(
  drawn: readonly DrawnFault[],
  gapMs: number,
  endMs: number,
  nodes: number,
): readonly Injection[] {
  const lanes = new Map<string, number>();
  const placed = drawn.map(({ kind, jitter, length, node, draw }, index) => {
    const { lane, seconds } = FAULT_KINDS[kind];
    const struck = { kind, node: isNodeLane(lane) ? node % nodes : 0, draw };
    const lengthMs = lengthOf(seconds, length / DRAWS, endMs);
    const keys = [...lanesOf(lane, struck.node, nodes), ...(OF_DEATHS.has(kind) ? ['deaths'] : [])];
    const freeMs = Math.max(0, ...keys.map((key) => lanes.get(key) ?? 0));
    const atMs = Math.max(Math.round((index + jitter / DRAWS) * gapMs), freeMs);
    const patienceMs = lane === 'lie-of-best' ? Math.min(LIE_PATIENCE_MS, endMs / 30) : 0;
    for (const key of keys) lanes.set(key, atMs + lengthMs + patienceMs);
    return { ...struck, atMs, untilMs: atMs + lengthMs };
  });
  return placed.toSorted((a, b) => a.atMs - b.atMs);
}

/** Scales the times of all injections so that the last one ends at `endMs`; the order stays. */
function scaleTo(placed: readonly Injection[], endMs: number): readonly Injection[] {
  const lastMs = Math.max(...placed.map(({ untilMs }) => untilMs));
  const scaled = (ms: number): number => Math.floor((ms * endMs) / lastMs);
  return placed.map((one) => ({ ...one, atMs: scaled(one.atMs), untilMs: scaled(one.untilMs) }));
}

interface DrawnFault {
  readonly kind: FaultName;
  readonly jitter: number;
  readonly length: number;
  readonly node: number;
  readonly draw: number;
}

function roundsOf(names: readonly FaultName[], rounds: number): fc.Arbitrary<readonly DrawnFault[]> {
  const number = fc.nat({ max: DRAWS - 1 });
  const choices = fc.record({ jitter: number, length: number, node: number, draw: number });
  const round = fc
    .tuple(
      fc.shuffledSubarray([...names], { minLength: names.length }),
      fc.array(choices, { minLength: names.length, maxLength: names.length }),
    )
    .map(([kinds, all]) => [migrationOf(kinds), all] as const)
    .map(([kinds, all]) => all.flatMap((one, index) => withKind(kinds[index], one)));
  return fc.array(round, { minLength: rounds, maxLength: rounds }).map((all) => all.flat());
}

/** One needs the attempts that the other has proved dead, so they never overlap, and come in the order of a round. */
const OF_DEATHS: ReadonlySet<FaultName> = new Set(['expiry', 'node_false_status']);

/** A node can list dead attempts only once some have died. */
function migrationOf(kinds: readonly FaultName[]): readonly FaultName[] {
  const [dying, listing] = [kinds.indexOf('expiry'), kinds.indexOf('node_false_status')];
  return dying < listing ? kinds : kinds.with(dying, 'node_false_status').with(listing, 'expiry');
}

function withKind(kind: FaultName | undefined, choices: Omit<DrawnFault, 'kind'>): DrawnFault[] {
  return kind === undefined ? [] : [{ kind, ...choices }];
}

function sample<T>(seed: number, arbitrary: fc.Arbitrary<T>): T {
  const [drawn] = fc.sample(arbitrary, { seed, numRuns: 1, unbiased: true });
  if (drawn === undefined) throw new Error('nothing was drawn');
  return drawn;
}

/** A short run shortens its faults too: none lasts longer than a sixth of it. */
function lengthOf([shortest, longest]: readonly [number, number], share: number, endMs: number): number {
  const wished = (shortest + (longest - shortest) * share) * 1_000;
  return Math.round(Math.min(wished, endMs / 6));
}

/**
 * What must be free: a lie needs its node, if that is known, and no other liar; what strikes all nodes needs every one of them, and a chain
 * that does not fork meanwhile, since no transaction reaches it that a fork could take back. False blocks are a lie, and want a node that
 * answers. The scanner is
 * found through Temporal, and an address is given out by the API from the database.
 */
function lanesOf(lane: FaultLane, node: number, nodes: number): readonly string[] {
  if (lane === 'node') return [`node ${node}`];
  if (lane === 'lie') return ['lie', `node ${node}`];
  if (lane === 'all-nodes') return [...Array.from({ length: nodes }, (_, index) => `node ${index}`), 'chain'];
  if (lane === 'lie-of-best') return ['lie'];
  if (lane === 'issuer') return lanesOf('all-nodes', node, nodes);
  if (lane === 'blocks') return ['blocks', 'lie', 'chain'];
  if (lane === 'scanner') return ['worker', 'temporal'];
  if (lane === 'rescan') return ['temporal', 'api'];
  if (lane === 'sales') return ['api', 'x402'];
  if (lane === 'database-of-workers') return ['database', 'api', 'worker'];
  return [lane];
}
