import type pg from 'pg';

/** The wallet that pays all withdrawals of the made history. */
export const HOT = 'H'.repeat(43);
export const FEE_PAYER = 'F'.repeat(43);
export const TOKEN = 'T'.repeat(43);
/** One withdrawal in a thousand pays it, one deposit in a thousand brings it, and one payment in a thousand is of it. */
export const RARE = 'R'.repeat(43);
/** Ten thousandths of all withdrawals go to it. */
export const BUSY_DESTINATION = 'B'.repeat(43);
/** The number in flight is the same at any size; only the history grows. */
const OPEN = 300;

/** As the made history spells them; the arguments are SQL. */
const address = (text: string) => `translate(md5(${text}) || substr(md5(${text} || '.'), 1, 12), '0', 'z')`;
const signature = (text: string) =>
  `translate(md5(${text}) || md5(${text} || '.') || substr(md5(${text} || ':'), 1, 24), '0', 'z')`;
const hash = (text: string) => `md5(${text}) || md5(${text} || '.')`;
const asset = `case when i % 1000 = 7 then '${RARE}' when i % 2 = 0 then 'SOL' else '${TOKEN}' end`;

/** Tables whose rows are history: no query may read one of them whole. */
export const GROWING = [
  'settlement',
  'withdrawal',
  'attempt',
  'reservation',
  'payment',
  'access_pass',
  'deposit',
  'deposit_event',
  'deposit_address',
  'watched_wallet',
  'spend',
  'outflow',
  'webhook_event',
  'webhook_delivery',
  'alert',
] as const;

/** Statements that fill empty tables with `n` rows of history, and a few of what is under way. */
export function fillStatements(n: number): readonly string[] {
  const series = `generate_series(1, ${n}) as i`;
  const tenth = Math.max(n / 10, OPEN * 2);
  // At any size the last hour and the last day have the same rows.
  const at = (last: number) => `now() - (${last} - i) * interval '30 seconds'`;
  const open = n - OPEN;
  const slot = `1000 + i`;
  const status = `case when i <= ${open} then
      case when i % 200 = 3 then 'rejected' when i % 500 = 4 then 'failed' when i % 200 = 5 then 'cancelled' else 'finalized' end
    else (array['requested', 'awaiting_confirmation', 'awaiting_funds', 'preparing', 'sending', 'confirmed', 'held'])[1 + i % 7] end`;
  const outcome = `case (${status}) when 'finalized' then 'landed' when 'failed' then 'failed'
    when 'preparing' then 'prepared' when 'sending' then 'signed' when 'confirmed' then 'signed' else 'dead' end`;
  return [
    `insert into settlement (id, position, kind, subject_id, status, reason_code, reason_message, was_confirmed, created_at, updated_at)
      overriding system value
      select 'w-' || i, i, 'withdrawal', 'w-' || i, status,
        case when status in ('rejected', 'failed', 'held') then 'test' end, case when status in ('rejected', 'failed', 'held') then 'a reason' end,
        status in ('confirmed', 'finalized'), ${at(n)}, ${at(n)} from (select i, ${status} as status from ${series}) given`,
    `insert into settlement (id, position, kind, subject_id, status, was_confirmed, created_at, updated_at) overriding system value
      select 'x402/' || ${hash(`'p' || i`)}, ${n} + i, 'x402', ${hash(`'p' || i`)}, 'finalized', true, ${at(tenth)}, ${at(tenth)}
      from generate_series(1, ${tenth}) as i`,
    `select setval(pg_get_serial_sequence('settlement', 'position'), ${n + tenth})`,
    `insert into withdrawal (id, position, asset, amount, destination, accept_empty_wallet, memo, fingerprint, amount_received)
      select 'w-' || i, i, ${asset}, 1000 + i, case when i % 1000 < 10 then '${BUSY_DESTINATION}' else ${address(`'to' || i % ${Math.max(n / 3, 1)}`)} end,
        false, null, ${hash(`'w' || i`)}, 1000 + i from ${series}`,
    `insert into attempt (settlement_id, n, kind, signers, message_hash, message, blockhash, blockhash_slot, blockhash_height,
        last_valid_block_height, compute_unit_limit, compute_unit_price_micro_lamports, fee_lamports, rent_lamports, state, signatures, slot, proof, created_at)
      select 'w-' || i, 1, 'withdrawal', array['${HOT}'], ${hash(`'w' || i`)}, repeat(md5('w' || i), 2), ${address(`'b' || i / 10`)}, ${slot}, ${slot},
        ${slot} + 150, 450, 10000, 5000, 0, state, array[case when state <> 'prepared' then ${signature(`'w' || i`)} end],
        case when state in ('landed', 'failed') then ${slot} + 20 end, case when state in ('landed', 'failed', 'dead') then '{"by": ["one", "two"]}'::jsonb end, ${at(n)}
      from (select i, ${outcome} as state from ${series}) given`,
    `insert into attempt (settlement_id, n, kind, signers, message_hash, message, blockhash, blockhash_slot, blockhash_height,
        last_valid_block_height, adopted_from, compute_unit_limit, compute_unit_price_micro_lamports, fee_lamports, rent_lamports, state, signatures, slot, proof, created_at)
      select 'x402/' || ${hash(`'p' || i`)}, 1, 'x402', array['${FEE_PAYER}', ${address(`'payer' || i % ${tenth}`)}], ${hash(`'p' || i`)}, repeat(md5('p' || i), 2),
        ${address(`'b' || i / 10`)}, ${slot}, ${slot}, ${slot} + 150, 'a block', 450, 10000, 5000, 0, 'landed',
        array[${signature(`'p' || i`)}, ${signature(`'q' || i`)}], ${slot} + 20, '{"by": ["one", "two"]}', ${at(tenth)} from generate_series(1, ${tenth}) as i`,
    `insert into reservation (settlement_id, wallet, asset, amount, state, slot)
      select 'w-' || i, '${HOT}', 'SOL', 1000 + i, case when i <= ${open} then 'landed' else 'open' end,
        case when i <= ${open} then ${slot} + 20 end from ${series}`,
    `insert into reserved (wallet, asset, part, amount, open)
      select wallet, asset, reserved_part(settlement_id) as part, sum(amount), count(*) from reservation where state = 'open' group by wallet, asset, part`,
    `insert into payment (id, state, reason, seller, dialect, payer, source_account, fee_payer, fee_lamports, compute_unit_limit, compute_unit_price_micro_lamports, terms, wire,
        signature, accepted_slot, received, route, request_hash, caller, paid_at, settled_at, served_at, failed_at, created_at)
      select 'x402/' || ${hash(`'p' || i`)}, case when i > ${open} then (array['settling', 'owed', 'refundable', 'unmatched'])[1 + i % 4]
          when i % 1000 = 3 then 'refundable' when i % 100 = 5 then 'void' else 'served' end,
        null, case when i % 1000 = 9 then 'facilitator' else 'gateway' end, 'v2', ${address(`'payer' || i % ${tenth}`)}, ${address(`'source' || i % ${tenth}`)}, '${FEE_PAYER}', 5000, 450, 10000,
        jsonb_build_object('asset', case when i % 1000 = 7 then '${RARE}' else '${TOKEN}' end, 'amount', '1000', 'payTo', 'a seller', 'network', 'a network', 'decimals', 6), repeat(md5('p' || i), 2),
        ${signature(`'p' || i`)}, ${slot}, 1000, 'GET /r' || i % 20, ${hash(`'r' || i`)}, '{"identifier": null}',
        ${at(n)}, case when i <= ${open} then ${at(n)} end, ${at(n)}, case when i % 100 = 5 and i % 1000 <> 3 then ${at(n)} end, ${at(n)} from ${series}`,
    `insert into access_pass (payment_id, payer, route, path, issued_at, expires_at)
      select id, payer, route, '/r1', served_at, served_at + interval '300 seconds' from payment`,
    `insert into watched_wallet (address, kind, version, watched_after) select ${address(`'d' || i`)}, 'deposit', i / 1000 + 1, 1 from ${series}`,
    `insert into watched_wallet (address, kind, version, watched_after) values ('${HOT}', 'hot', 1, 1)`,
    `insert into deposit_address (address, position, path, state, user_ref, assigned_at, assigned_after, since, audit_due)
      overriding system value select ${address(`'d' || i`)}, i, 'm/' || i, state, case when state = 'assigned' then 'u-' || i end, case when state = 'assigned' then now() end,
        case when state = 'assigned' then 1 end, case when state = 'auditing' then 1 end, state = 'auditing'
      from (select i, case when i % 10 = 1 then 'free' when i > ${open} then (array['auditing', 'used', 'used'])[1 + i % 3] else 'assigned' end as state from ${series}) given`,
    `select setval(pg_get_serial_sequence('deposit_address', 'position'), ${n})`,
    `insert into deposit (id, signature, slot, blockhash, time, account, wallet, asset, amount, state, reason, finalized_at, confirmed_by, created_at)
      overriding system value select i, ${signature(`'d' || i`)}, ${slot}, ${address(`'b' || i / 10`)}, 1, ${address(`'d' || i`)}, ${address(`'d' || i`)}, ${asset}, 1000 + i, state,
        case when state = 'not_credited' then 'below_minimum' end, case when state <> 'dropped' and i <> ${n} then now() end,
        case when state in ('final', 'not_credited') then 'one, two' end, ${at(n)}
      from (select i, case when i > ${open} then 'pending' when i % 100 = 3 then 'not_credited' else 'final' end as state from ${series}) given`,
    `select setval(pg_get_serial_sequence('deposit', 'id'), ${n})`,
    `insert into deposit_event (sequence, deposit_id, kind, amount, reason)
      select i, i, case when i > ${open} then 'pending' when i % 100 = 3 then 'not_credited' else 'final' end, 1000 + i, case when i <= ${open} and i % 100 = 3 then 'below_minimum' end from ${series}`,
    `update deposit_feed set last_sequence = ${n}`,
    `update watch_version set version = ${Math.floor(n / 1000) + 1}`,
    `insert into spend (signature, slot, wallet, judged) select ${signature(`'w' || i`)}, ${slot} + 20, '${HOT}', i <= ${open} from ${series}`,
    `insert into outflow (signature, slot, account, asset, wallet, amount, owner_signed)
      select ${signature(`'w' || i`)}, ${slot} + 20, '${HOT}', ${asset}, '${HOT}', 1000 + i, true from ${series}`,
    `insert into alert (kind, subject, message, raised_at, closed_at)
      select case when i > ${tenth - 20} then 'deposit_mismatch'
          else (array['unknown_spend', 'balance_difference', 'deposit_mismatch', 'webhook_dead_letter', 'maybe_paid'])[1 + i % 5] end,
        'w-' || i, 'a message', ${at(tenth)}, case when i <= ${tenth - 20} then now() end from generate_series(1, ${tenth}) as i`,
    `insert into webhook_endpoint (id, url, events, secret) select 'e-' || i, 'http://127.0.0.1:9/' || i, array['withdrawal.finalized'], 'a secret' from generate_series(1, 3) as i`,
    `insert into webhook_event (sequence, id, type, entity, body, created_at) overriding system value
      select i, 'event-' || i, 'withdrawal.finalized', 'withdrawal/w-' || i, md5('e' || i), ${at(tenth)} from generate_series(1, ${tenth}) as i`,
    `select setval(pg_get_serial_sequence('webhook_event', 'sequence'), ${tenth})`,
    `insert into webhook_delivery (endpoint, sequence, entity, state, attempts, last_error, handed_at, settled_at)
      select 'e-' || 1 + i % 3, i, 'withdrawal/w-' || i, state, 1, case when state <> 'delivered' then 'an error' end, now(), case when state <> 'waiting' then now() end
      from (select i, case when i > ${tenth - OPEN} then 'waiting' when i % 10000 = 7 then 'dead' else 'delivered' end as state from generate_series(1, ${tenth}) as i) given`,
    ...fewStatements(n),
  ];
}

/** Rows of the tables that are small at any size. */
function fewStatements(n: number): readonly string[] {
  return [
    `insert into wallet_history (wallet, from_slot, judged_to_slot) values ('${HOT}', 1, ${n})`,
    `insert into fee_payer (address) values ('${FEE_PAYER}')`,
    `insert into wallet_baseline (wallet, account, asset, slot, amount) values ('${HOT}', '${HOT}', 'SOL', ${n}, 1)`,
    `insert into asset (asset, program, decimals, extensions, minimum_deposit, deposits_on)
      select asset, case when asset <> 'SOL' then 'a program' end, 6, '[]', 1, true from unnest(array['SOL', '${TOKEN}', '${RARE}']) as asset`,
    `insert into scan_cursor (slot, blockhash, height, tip) values (${n + 1000}, 'newest', ${n + 1000}, ${n + 1000})`,
    `insert into block (slot, blockhash, parent_slot, previous_blockhash, height, time)
      select ${n} + i, 'block-' || i, ${n} + i - 1, 'block-' || i - 1, ${n} + i, 1 from generate_series(1, 1000) as i`,
    `insert into nonce_account (address, authority, position, state, nonce, slot)
      select 'nonce-' || i, '${HOT}', i, 'free', 'value-' || i, 1 from generate_series(1, 64) as i`,
    `insert into cluster (genesis_hash) values ('a genesis hash')`,
    `insert into reconciliation (begun_at) values (now())`,
    `insert into offer (route, hash, terms) values ('GET /r1', 'a hash', '{}')`,
  ];
}

/** Fills a migrated, empty database. Indexes and constraints are made after the rows. */
export async function fill(client: pg.Client, rows: number, say: (line: string) => void): Promise<void> {
  const run = async (statement: string) => {
    const begun = performance.now();
    await client.query(statement);
    const ms = performance.now() - begun;
    if (ms > 5_000) say(`${(ms / 1_000).toFixed(0)} s: ${statement.slice(0, 70).replaceAll('\n', ' ')}`);
  };
  const tables = GROWING.map((name) => `'${name}'::regclass`).join(', ');
  const { rows: constraints } = await client.query<{
    table: string;
    name: string;
    def: string;
    type: string;
  }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as def, contype as type
     from pg_constraint where contype in ('p', 'u', 'f') and (conrelid in (${tables}) or confrelid in (${tables}))
     order by contype = 'f' desc`,
  );
  const { rows: indexes } = await client.query<{ name: string; def: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as def from pg_index
     where indrelid in (${tables}) and not exists (select from pg_constraint where conindid = indexrelid)`,
  );
  await run(
    `set session_replication_role = replica; set maintenance_work_mem = '1GB'; set work_mem = '64MB'`,
  );
  await run('begin');
  for (const { table, name } of constraints) await run(`alter table ${table} drop constraint ${name}`);
  for (const { name } of indexes) await run(`drop index ${name}`);
  // PostgreSQL writes no WAL for rows of a table that the same transaction has truncated.
  await run(`truncate ${GROWING.join(', ')}`);
  for (const statement of fillStatements(rows)) await run(statement);
  for (const { table, name, def, type } of constraints.toReversed())
    await run(`alter table ${table} add constraint ${name} ${def}${type === 'f' ? ' not valid' : ''}`);
  for (const { def } of indexes) await run(def);
  await run('commit');
  await run('set session_replication_role = origin');
  await run('vacuum (analyze)');
}
