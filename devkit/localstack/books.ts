import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { transactionsSignedBy } from './chain-truth.ts';
import { rpc } from './rpc.ts';
import type { Stack } from './stack.ts';

export type LamportsBySignature = Readonly<Record<string, bigint>>;

/** The spending of the hot wallet, from the finalized blocks and from PostgreSQL. */
export interface Books {
  /** Lamports that left the hot wallet: transferred SOL, fees and rent. */
  readonly chain: LamportsBySignature;
  /** The fees of the transactions in `chain`, if the hot wallet paid them. */
  readonly fees: LamportsBySignature;
  /** The recorded lamports of every landed or failed attempt that the hot wallet signed. */
  readonly record: LamportsBySignature;
  /** Number of attempts that are prepared or signed. */
  readonly live: number;
  readonly dead: number;
  readonly openReservations: bigint;
}

/** Waits until no recorded attempt can land, then reads the chain and the database. */
export async function readBooks(stack: Pick<Stack, 'databaseUrl' | 'rpcUrls' | 'hotWallet'>): Promise<Books> {
  const [url = ''] = stack.rpcUrls;
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  // An error event without a listener would end the process; the next query fails anyway.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows: expiry } = await client.query<{ height: string }>(LAST_HEIGHT);
    await waitUntilFinalizedAbove(url, BigInt(expiry[0]?.height ?? 0));
    const signed = await transactionsSignedBy(url, stack.hotWallet);
    const { rows: settled } = await client.query<{ signature: string; spent: string }>(SPENT, [
      stack.hotWallet,
    ]);
    const { rows: counts } = await client.query<{ live: string; dead: string; promised: string }>(COUNTS);
    const [counted] = counts;
    if (counted === undefined) throw new Error('PostgreSQL returned no row for a count');
    return {
      chain: Object.fromEntries(signed.map((item) => [item.signature, -item.changeLamports])),
      fees: Object.fromEntries(signed.map((item) => [item.signature, item.feeLamports])),
      record: Object.fromEntries(settled.map(({ signature, spent }) => [signature, BigInt(spent)])),
      live: Number(counted.live),
      dead: Number(counted.dead),
      openReservations: BigInt(counted.promised),
    };
  } finally {
    await client.end();
  }
}

const FINALITY_TIMEOUT_MS = 90_000;

async function waitUntilFinalizedAbove(url: string, height: bigint): Promise<void> {
  const end = performance.now() + FINALITY_TIMEOUT_MS;
  while (BigInt(await rpc<number>(url, 'getBlockHeight', [{ commitment: 'finalized' }])) <= height) {
    if (performance.now() > end)
      throw new Error(`no block above height ${height} was finalized within ${FINALITY_TIMEOUT_MS} ms`);
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
