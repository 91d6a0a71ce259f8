/**
 * What a fault strikes. Two faults of one lane never overlap; `node` and `lie` also choose which node, `blocks` goes from one to the
 * next, and `lie-of-best` strikes the node that is asked most.
 */
export type FaultLane =
  | 'worker'
  | 'signer'
  | 'api'
  | 'x402'
  | 'sales'
  | 'temporal'
  | 'database'
  | 'clock'
  | 'chain'
  | 'scanner'
  | 'database-of-workers'
  | 'lists'
  | 'blocks'
  | 'rescan'
  | 'node'
  | 'lie'
  | 'lie-of-best'
  | 'stranger'
  | 'issuer'
  | 'all-nodes';

interface FaultKind {
  readonly lane: FaultLane;
  /** Shortest and longest time until it is healed, in seconds. */
  readonly seconds: readonly [number, number];
  /** Text for the report. */
  readonly what: string;
}

/**
 * Everything the stack must survive. A `lie` strikes one node at a time, since a quorum that lies together looks like a
 * chain; silence, loss and lag may strike several.
 */
const STACK_FAULTS = {
  kill_worker: { lane: 'worker', seconds: [1, 6], what: 'SIGKILL of the chain worker' },
  kill_signer: { lane: 'signer', seconds: [1, 6], what: 'SIGKILL of the signer' },
  kill_api: { lane: 'api', seconds: [1, 4], what: 'SIGKILL of the API' },
  temporal_restart: { lane: 'temporal', seconds: [2, 6], what: 'Temporal server stopped and started' },
  database_restart: { lane: 'database', seconds: [1, 6], what: 'PostgreSQL stopped and started' },
  database_cut: {
    lane: 'database',
    seconds: [2, 5],
    what: 'PostgreSQL connections cut inside transactions',
  },
  clock_jump: { lane: 'clock', seconds: [5, 15], what: 'clock of the chain worker set off by minutes' },
  no_answer: { lane: 'node', seconds: [3, 12], what: 'a node keeps silent' },
  send_lost_answer: { lane: 'node', seconds: [5, 15], what: 'a node takes a send, its answer is lost' },
  send_dropped: { lane: 'node', seconds: [5, 15], what: 'a node answers a send and drops it' },
  http_429: { lane: 'node', seconds: [3, 12], what: 'a node limits the rate' },
  http_5xx: { lane: 'node', seconds: [3, 12], what: 'a node answers 502' },
  malformed: { lane: 'node', seconds: [3, 10], what: 'a node answers an HTML page' },
  lag: { lane: 'node', seconds: [8, 20], what: 'a node lags by 50 to 400 slots' },
  stuck_finality: { lane: 'node', seconds: [8, 20], what: 'a node reports no new finalized block' },
  history_cut: { lane: 'node', seconds: [10, 25], what: 'a node lost its history' },
  false_null: { lane: 'lie', seconds: [8, 20], what: 'a node denies every signature' },
  false_blockhash_not_found: { lane: 'lie', seconds: [5, 15], what: 'a node refuses every blockhash' },
  early_invalid: { lane: 'lie', seconds: [8, 20], what: 'a node calls every blockhash expired' },
  false_height: { lane: 'lie', seconds: [8, 20], what: 'a node reports a block height far ahead' },
  node_false_account: {
    lane: 'lie-of-best',
    seconds: [10, 18],
    what: 'the best node shows mints, token accounts or owners falsely',
  },
  node_false_price: {
    lane: 'lie-of-best',
    seconds: [10, 18],
    what: 'the best node reports false prices and false compute units',
  },
  node_false_status: {
    lane: 'lie-of-best',
    seconds: [12, 20],
    what: 'the best node reports attempts as landed, also dead ones',
  },
  stranger_funds_ata: {
    lane: 'stranger',
    seconds: [5, 10],
    what: 'a stranger funds token accounts before a withdrawal makes them',
  },
  issuer_freezes: {
    lane: 'issuer',
    seconds: [14, 20],
    what: 'issuers freeze our account and pause a mint between signing and landing',
  },
  fork: { lane: 'chain', seconds: [8, 15], what: 'processed blocks vanish, and transactions with them' },
  expiry: { lane: 'all-nodes', seconds: [25, 30], what: 'every send dropped until blockhashes expire' },
  all_nodes_down: { lane: 'all-nodes', seconds: [60, 60], what: 'no node answers' },
} as const satisfies Record<string, FaultKind>;

/** Additional faults that the deposit scan must survive. */
const SCAN_FAULTS = {
  kill_scanner: { lane: 'scanner', seconds: [6, 14], what: 'SIGKILL of the worker that holds the scan' },
  scanner_cut: {
    lane: 'database-of-workers',
    seconds: [5, 10],
    what: 'workers cut off from PostgreSQL while an address is given out and paid',
  },
  short_lists: { lane: 'lists', seconds: [15, 30], what: 'all nodes leave blocks out of their lists' },
  null_blocks: { lane: 'blocks', seconds: [8, 15], what: 'a node answers null for every block' },
  skipped_blocks: { lane: 'blocks', seconds: [8, 15], what: 'a node calls every slot skipped (-32007)' },
  false_block: { lane: 'blocks', seconds: [8, 20], what: 'a node shows transactions of blocks falsely' },
  rescan: { lane: 'rescan', seconds: [3, 8], what: 'hundreds of slots delivered twice' },
  deep_fork: {
    lane: 'chain',
    seconds: [5, 12],
    what: 'confirmed blocks vanish, and transactions with them',
  },
} as const satisfies Record<string, FaultKind>;

/** Additional faults that sales must survive. */
const SALES_FAULTS = {
  kill_x402: { lane: 'x402', seconds: [1, 6], what: 'SIGKILL of the x402 worker' },
  kill_sales: { lane: 'sales', seconds: [1, 6], what: 'SIGKILL of gateway and x402 worker at once' },
} as const satisfies Record<string, FaultKind>;

export const FAULT_KINDS = { ...STACK_FAULTS, ...SCAN_FAULTS, ...SALES_FAULTS };

export type FaultName = keyof typeof FAULT_KINDS;

/** All kinds of faults; those of the scan only in a run with deposits, those of sales only in a run with payments. */
export function faultNames({ deposits, payments }: FaultScope): readonly FaultName[] {
  return Object.keys({
    ...STACK_FAULTS,
    ...(deposits ? SCAN_FAULTS : {}),
    ...(payments ? SALES_FAULTS : {}),
  }) as readonly FaultName[];
}

/** What a run has beside withdrawals. */
export interface FaultScope {
  readonly deposits: boolean;
  readonly payments: boolean;
}

/** Faults that only a send meets. They continue for a while if there was no send yet. */
export const SEND_FAULTS: readonly FaultName[] = [
  'send_lost_answer',
  'send_dropped',
  'false_blockhash_not_found',
];

/** On a busy machine the best node is asked so much later than a lie of it ends, at most. No other node lies until then. */
export const LIE_PATIENCE_MS = 10_000;

/** True if a fault strikes one node. */
export function isNodeLane(lane: FaultLane): boolean {
  return lane === 'node' || lane === 'lie';
}
