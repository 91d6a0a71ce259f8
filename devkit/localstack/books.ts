import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { transactionsSignedBy } from './chain-truth.ts';
import { rpc } from './rpc.ts';
import type { Stack } from './stack.ts';

/** Lamports that left the hot wallet by signature: amounts in SOL, fees and rents. */
export type Spent = Readonly<Record<string, bigint>>;

/** The same money by the finalized blocks and by PostgreSQL. */
export interface Books {
  readonly chain: Spent;
  /** The fee that the hot wallet paid for each of these. */
  readonly fees: Spent;
  /** The recorded cost of every attempt that landed or failed and that the hot wallet signed. */
  readonly record: Spent;
  readonly live: number;
  readonly dead: number;
  /** Base units of all assets that are still reserved. */
  readonly openReservations: bigint;
}

/** Reads both sides once no recorded attempt can land any more. */
export async function readBooks(stack: Pick<Stack, 'databaseUrl' | 'rpcUrls' | 'hotWallet'>): Promise<Books> {
  const [url = ''] = stack.rpcUrls;
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  // If the connection ends, the next query fails.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows: expiry } = await client.query<{ height: string }>(LAST_HEIGHT);
    await finalizedAbove(url, BigInt(expiry[0]?.height ?? 0));
    const signed = await transactionsSignedBy(url, stack.hotWallet);
    const { rows: settled } = await client.query<{ signature: string; spent: string }>(SPENT, [
      stack.hotWallet,
    ]);
    const { rows: counts } = await client.query<{ live: string; dead: string; promised: string }>(COUNTS);
    const [counted] = counts;
    if (counted === undefined) throw new Error('PostgreSQL answers a count with no row');
    return {
      chain: Object.fromEntries(signed.map((one) => [one.signature, -one.changeLamports])),
      fees: Object.fromEntries(signed.map((one) => [one.signature, one.feeLamports])),
      record: Object.fromEntries(settled.map(({ signature, spent }) => [signature, BigInt(spent)])),
      live: Number(counted.live),
      dead: Number(counted.dead),
      openReservations: BigInt(counted.promised),
    };
  } finally {
    await client.end();
  }
}

const PATIENCE_MS = 90_000;

async function finalizedAbove(url: string, last: bigint): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (BigInt(await rpc<number>(url, 'getBlockHeight', [{ commitment: 'finalized' }])) <= last) {
    if (performance.now() > end) throw new Error(`height ${last} is not finalized after ${PATIENCE_MS} ms`);
    await sleep(50);
  }
}

const LAST_HEIGHT = 'select coalesce(max(last_valid_block_height), 0) as height from attempt';

const SPENT = `select attempt.signature, attempt.fee_lamports
    + case when state = 'landed' then rent_lamports else 0 end
    + case when state = 'landed' and asset = 'SOL' then amount else 0 end as spent
  from attempt left join withdrawal on withdrawal.id = settlement_id
  where state in ('landed', 'failed') and $1 = any(signers)`;

const COUNTS = `select (select count(*) from attempt where state in ('prepared', 'signed')) as live,
  (select count(*) from attempt where state = 'dead') as dead,
  (select coalesce(sum(amount), 0) from reservation where state = 'open') as promised`;
