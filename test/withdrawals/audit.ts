import { transactionsSignedBy } from '../../src/localstack/chain-truth.ts';
import { rpc } from '../../src/localstack/rpc.ts';
import type { Stack } from '../../src/localstack/stack.ts';
import { query, until } from './outcomes-support.ts';

/** Lamports that left the hot wallet by signature: amounts in SOL, fees and rents. */
export type Spent = Readonly<Record<string, bigint>>;

/** The same money as the finalized blocks show it and as Postgres has it. */
export interface Audit {
  /** Every transaction that the hot wallet signed, in all finalized blocks. */
  readonly chain: Spent;
  /** Every attempt that landed or failed, at what the record says it cost. */
  readonly record: Spent;
  /** Attempts that may still land. */
  readonly live: number;
  /** Base units of all assets that are still promised. */
  readonly openReservations: bigint;
}

/** Reads both sides after the last moment at which any attempt on record could land. */
export async function audit(stack: Stack): Promise<Audit> {
  const url = stack.rpcUrls[0] ?? '';
  const [expiry] = await query<{ height: string }>(stack, LAST_HEIGHT);
  const last = BigInt(expiry?.height ?? 0);
  await until(async () => (await finalizedHeight(url)) > last);
  const signed = await transactionsSignedBy(url, stack.hotWallet);
  const settled = await query<{ signature: string; spent: string }>(stack, SPENT);
  const [open] = await query<{ live: string; promised: string }>(stack, OPEN);
  if (open === undefined) throw new Error('PostgreSQL answers a count with no row');
  return {
    chain: Object.fromEntries(signed.map((one) => [one.signature, -one.changeLamports])),
    record: Object.fromEntries(settled.map(({ signature, spent }) => [signature, BigInt(spent)])),
    live: Number(open.live),
    openReservations: BigInt(open.promised),
  };
}

export function sum(spent: Spent): bigint {
  return Object.values(spent).reduce((total, lamports) => total + lamports, 0n);
}

async function finalizedHeight(url: string): Promise<bigint> {
  return BigInt(await rpc<number>(url, 'getBlockHeight', [{ commitment: 'finalized' }]));
}

const LAST_HEIGHT = 'select coalesce(max(last_valid_block_height), 0) as height from attempt';

const SPENT = `select attempt.signature, attempt.fee_lamports
    + case when state = 'landed' then rent_lamports else 0 end
    + case when state = 'landed' and asset = 'SOL' then amount else 0 end as spent
  from attempt join withdrawal on withdrawal.id = withdrawal_id where state in ('landed', 'failed')`;

const OPEN = `select (select count(*) from attempt where state in ('prepared', 'signed')) as live,
  (select coalesce(sum(amount), 0) from reservation where state = 'open') as promised`;
