import type { Fault } from '../devkit/localnet/faults.ts';
import { LIES } from '../devkit/localnet/rpc/false-answers.ts';
import { rpc } from '../devkit/localstack/rpc.ts';
import type { FaultName } from './kinds.ts';

/** One scripted fault of a node; `*` is every method. */
export interface ScriptedFault {
  readonly method: string;
  readonly fault: Fault;
}

/** The node to be struck, and the free choice inside the kind. */
export interface Struck {
  readonly url: string;
  readonly draw: number;
}

type Script = (struck: Struck) => Promise<readonly ScriptedFault[]> | readonly ScriptedFault[];

const everywhere = (fault: Fault): readonly ScriptedFault[] => [{ method: '*', fault }];
const onSend = (fault: Fault): readonly ScriptedFault[] => [{ method: 'sendTransaction', fault }];

/** The faults of a node, as the development chain defines them. */
export const NODE_FAULTS = {
  no_answer: () => everywhere({ kind: 'no-answer' }),
  send_lost_answer: () => onSend({ kind: 'lost-answer' }),
  send_dropped: () => onSend({ kind: 'drop-send' }),
  http_429: () => everywhere({ kind: 'http', status: 429, retryAfterSeconds: 1 }),
  http_5xx: ({ draw }) => everywhere({ kind: 'http', status: draw % 2 === 0 ? 502 : 503 }),
  malformed: ({ draw }) => everywhere({ kind: 'malformed', form: FORMS[draw % FORMS.length] ?? 'html' }),
  lag: ({ draw }) => everywhere({ kind: 'lag', blocks: 50 + (draw % 351) }),
  stuck_finality: async ({ url }) => everywhere({ kind: 'stuck-finality', slot: await finalizedSlot(url) }),
  history_cut: async ({ url }) => everywhere({ kind: 'history-from', slot: await finalizedSlot(url) }),
  false_null: () =>
    ['getSignatureStatuses', 'getTransaction', 'getSignaturesForAddress'].map((method) => ({
      method,
      fault: { kind: 'history-from', slot: NEVER } as const,
    })),
  false_blockhash_not_found: () => onSend(BLOCKHASH_NOT_FOUND),
  early_invalid: () => everywhere({ kind: 'blockhash-age', heights: -1 }),
  short_lists: async ({ url, draw }) => [
    { method: 'getBlocks', fault: await holeAhead(url, draw) },
    { method: 'getBlocksWithLimit', fault: await holeAhead(url, draw) },
  ],
  null_blocks: () => [{ method: 'getBlock', fault: { kind: 'null' } }],
  skipped_blocks: () => [{ method: 'getBlock', fault: SKIPPED }],
  false_block: ({ draw }) => [
    { method: 'getBlock', fault: { kind: 'false-block', lie: LIES[draw % LIES.length] ?? 'leave-out' } },
  ],
  false_height: ({ draw }) => everywhere({ kind: 'height-offset', blocks: 151 + (draw % 1_000) }),
} as const satisfies Partial<Record<FaultName, Script>>;

export type NodeFaultName = keyof typeof NODE_FAULTS;

const FORMS = ['truncated', 'html', 'wrong-id'] as const;

/** Higher than any slot of a run, so that the node has no history at all. */
const NEVER = 1_000_000_000;

const BLOCKHASH_NOT_FOUND: Fault = {
  kind: 'error',
  code: -32_002,
  message: 'Transaction simulation failed: Blockhash not found',
  data: { err: 'BlockhashNotFound', logs: [], unitsConsumed: 0 },
};

const SKIPPED: Fault = {
  kind: 'error',
  code: -32_007,
  message: 'Slot was skipped, or missing due to ledger jump to recent snapshot',
};

/** The next 10 to 69 slots, which the scan has not read yet. */
async function holeAhead(url: string, draw: number): Promise<Fault> {
  const from = (await finalizedSlot(url)) + (draw % 10);
  return { kind: 'hole', from, to: from + 10 + (draw % 60) };
}

function finalizedSlot(url: string): Promise<number> {
  return rpc<number>(url, 'localnet_healthy', ['getSlot', { commitment: 'finalized' }]);
}
