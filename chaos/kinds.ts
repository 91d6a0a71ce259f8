/**
 * What a fault strikes. Two faults of one lane never overlap; `node` and `lie` also choose which node, `blocks` goes from one to the
 * next.
 */
export type Lane =
  | 'worker'
  | 'signer'
  | 'api'
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
  | 'all-nodes';

interface FaultKind {
  readonly lane: Lane;
  /** Shortest and longest time until it is healed, in seconds. */
  readonly seconds: readonly [number, number];
  /** For people who read the report. */
  readonly what: string;
}

/**
 * Everything the stack must survive. A `lie` strikes one node at a time, since a quorum that lies together cannot be told from a
 * chain; silence, loss and lag may strike several.
 */
const STACK_FAULTS = {
  'kill-worker': { lane: 'worker', seconds: [1, 6], what: 'SIGKILL of the chain worker' },
  'kill-signer': { lane: 'signer', seconds: [1, 6], what: 'SIGKILL of the signer' },
  'kill-api': { lane: 'api', seconds: [1, 4], what: 'SIGKILL of the API' },
  'temporal-restart': { lane: 'temporal', seconds: [2, 6], what: 'Temporal server stopped and started' },
  'database-restart': { lane: 'database', seconds: [1, 6], what: 'PostgreSQL stopped and started' },
  'database-cut': {
    lane: 'database',
    seconds: [2, 5],
    what: 'PostgreSQL connections cut inside transactions',
  },
  'clock-jump': { lane: 'clock', seconds: [5, 15], what: 'clock of the chain worker set off by minutes' },
  'no-answer': { lane: 'node', seconds: [3, 12], what: 'a node keeps silent' },
  'send-lost-answer': { lane: 'node', seconds: [5, 15], what: 'a node takes a send, its answer is lost' },
  'send-dropped': { lane: 'node', seconds: [5, 15], what: 'a node answers a send and drops it' },
  'http-429': { lane: 'node', seconds: [3, 12], what: 'a node limits the rate' },
  'http-5xx': { lane: 'node', seconds: [3, 12], what: 'a node answers 502' },
  malformed: { lane: 'node', seconds: [3, 10], what: 'a node answers an HTML page' },
  lag: { lane: 'node', seconds: [8, 20], what: 'a node lags by 50 to 400 slots' },
  'stuck-finality': { lane: 'node', seconds: [8, 20], what: 'finality stands still at a node' },
  'history-cut': { lane: 'node', seconds: [10, 25], what: 'a node lost its history' },
  'false-null': { lane: 'lie', seconds: [8, 20], what: 'a node denies every signature' },
  'false-blockhash-not-found': { lane: 'lie', seconds: [5, 15], what: 'a node refuses every blockhash' },
  'early-invalid': { lane: 'lie', seconds: [8, 20], what: 'a node calls every blockhash expired' },
  'false-height': { lane: 'lie', seconds: [8, 20], what: 'a node reports a block height far ahead' },
  fork: { lane: 'chain', seconds: [8, 15], what: 'processed blocks vanish, and transactions with them' },
  expiry: { lane: 'all-nodes', seconds: [25, 30], what: 'every send dropped until blockhashes expire' },
  'all-nodes-down': { lane: 'all-nodes', seconds: [60, 60], what: 'no node answers' },
} as const satisfies Record<string, FaultKind>;

/** What the scan for deposits must survive besides. */
const SCAN_FAULTS = {
  'kill-scanner': { lane: 'scanner', seconds: [6, 14], what: 'SIGKILL of the worker that holds the scan' },
  'scanner-cut': {
    lane: 'database-of-workers',
    seconds: [5, 10],
    what: 'workers cut off from PostgreSQL while an address is given out and paid',
  },
  'short-lists': { lane: 'lists', seconds: [15, 30], what: 'all nodes leave blocks out of their lists' },
  'null-blocks': { lane: 'blocks', seconds: [8, 15], what: 'a node answers null for every block' },
  'skipped-blocks': { lane: 'blocks', seconds: [8, 15], what: 'a node calls every slot skipped (-32007)' },
  'false-block': { lane: 'blocks', seconds: [8, 20], what: 'a node shows transactions of blocks falsely' },
  rescan: { lane: 'rescan', seconds: [3, 8], what: 'hundreds of slots delivered twice' },
  'deep-fork': {
    lane: 'chain',
    seconds: [5, 12],
    what: 'confirmed blocks vanish, and transactions with them',
  },
} as const satisfies Record<string, FaultKind>;

export const FAULT_KINDS = { ...STACK_FAULTS, ...SCAN_FAULTS };

export type FaultName = keyof typeof FAULT_KINDS;

/** All kinds; those of the scan only where there are deposits. */
export function faultNames(withDeposits: boolean): readonly FaultName[] {
  return Object.keys(withDeposits ? FAULT_KINDS : STACK_FAULTS) as readonly FaultName[];
}

/** Those that nothing meets but a send: they go on for a while where there was none yet. */
export const SEND_FAULTS: readonly FaultName[] = [
  'send-lost-answer',
  'send-dropped',
  'false-blockhash-not-found',
];

/** True where a fault strikes one node. */
export function isNodeLane(lane: Lane): boolean {
  return lane === 'node' || lane === 'lie';
}
