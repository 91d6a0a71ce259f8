// The source of src/ledger/tables.ts: the tables of a migrated database, as Kysely names them. test/ledger/migrate.test.ts
// compares that file with the migrations; with `-u` it writes the file.
import type pg from 'pg';

/** Columns with a domain type that the SQL schema does not express, by the module of the type. JSON columns have the type of the parsed value. */
const DOMAIN = {
  '../domain/alerts.ts': { 'alert.kind': 'AlertKind' },
  '../domain/audit.ts': { 'backfill.report': 'AuditReport' },
  '../domain/deposit.ts': {
    'deposit.reason': 'NotCreditedReason',
    'deposit_event.reason': 'NotCreditedReason',
  },
  '../domain/scan.ts': {
    'backfill.unread': 'readonly ScanRange[]',
    'scan_status.state': "ScanReport['state']",
  },
  '../domain/units.ts': {
    'attempt.signers': 'readonly Address[]',
    'attempt.blockhash': 'Blockhash',
    'attempt.blockhash_slot': 'Slot',
    'attempt.blockhash_height': 'BlockHeight',
    'attempt.last_valid_block_height': 'BlockHeight',
    'attempt.adopted_from': 'Blockhash',
    'attempt.nonce_account': 'Address',
    'attempt.fee_lamports': 'Lamports',
    'attempt.rent_lamports': 'Lamports',
    'attempt.signatures': 'readonly (Signature | null)[]',
    'attempt.signature': 'Signature',
    'attempt.slot': 'Slot',
  },
  '../domain/webhook.ts': {
    'webhook_endpoint.events': 'readonly WebhookTopic[]',
    'webhook_event.type': 'WebhookEventType',
  },
  './x402/payment-row.ts': {
    'offer.terms': 'OfferedTerms',
    'payment.caller': 'Caller',
    'payment.terms': 'PaymentTerms',
  },
};
/** Types without a module of their own. */
const PLAIN = {
  'alert.details': 'Readonly<Record<string, unknown>>',
  'asset.extensions': 'readonly string[]',
  'catalog_entry.item': 'Readonly<Record<string, unknown>>',
};
const NEVER_UPDATED = ['offer.terms', 'payment.caller', 'payment.terms'];

/** TypeScript types of the SQL types, as src/ledger/connection.ts parses them. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: 'bigint',
  boolean: 'boolean',
  'double precision': 'number',
  integer: 'number',
  json: 'unknown',
  jsonb: 'unknown',
  numeric: 'bigint',
  smallint: 'number',
  text: 'string',
  'text[]': 'readonly string[]',
  'timestamp with time zone': 'Date',
};
const COLUMNS = `
  select relname as table, attname as name, format_type(atttypid, null) as type, attnotnull as required,
    atthasdef as "hasDefault", attidentity = 'a' or attgenerated = 's' as generated,
    (select pg_get_constraintdef(oid) from pg_constraint where conrelid = attrelid and contype = 'c'
      and conkey = array[attnum] and pg_get_constraintdef(oid) like 'CHECK ((% = ANY (ARRAY[%])))') as list
  from pg_attribute join pg_class on pg_class.oid = attrelid
  where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'kysely_%'
    and attnum > 0 and not attisdropped
  order by relname, attnum`;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly hasDefault: boolean;
  readonly generated: boolean;
  readonly list: string | null;
}

function typeOf({ table, name, type, required, hasDefault, generated, list }: Column): string {
  const key = `${table}.${name}`;
  const types: Readonly<Record<string, string>> = Object.assign({}, PLAIN, ...Object.values(DOMAIN));
  const states = list?.match(/'[^']*'/g)?.join(' | ');
  const value = types[key] ?? states ?? TYPES[type];
  if (value === undefined)
    throw new Error(`scripts/ledger-tables.ts does not support the type ${type} of ${key}`);
  const orNull = required ? '' : ' | null';
  if (type.startsWith('json')) {
    const parsed = value === 'unknown' ? value : `${value}${orNull}`;
    const update = NEVER_UPDATED.includes(key) ? 'never' : `string${orNull}`;
    return `ColumnType<${parsed}, string${orNull}${hasDefault ? ' | undefined' : ''}, ${update}>`;
  }
  if (generated) return `GeneratedAlways<${value}${orNull}>`;
  return hasDefault ? `Generated<${value}${orNull}>` : `${value}${orNull}`;
}

function camelCase(name: string): string {
  return name.replace(/_./g, (match) => match.slice(1).toUpperCase());
}

export async function ledgerTables(database: pg.Client): Promise<string> {
  const { rows } = await database.query<Column>(COLUMNS);
  const columns = new Set(rows.map(({ table, name }) => `${table}.${name}`));
  const overrides = [...Object.values(DOMAIN), PLAIN].flatMap((types) => Object.keys(types));
  const unknown = [...overrides, ...NEVER_UPDATED].filter((key) => !columns.has(key));
  if (unknown.length > 0) throw new Error(`no column is named ${unknown.join(', ')}`);
  const imports = Object.entries(DOMAIN).map(([module, types]) => {
    const names = new Set(Object.values(types).flatMap((type: string) => type.match(/[A-Z]\w+/g) ?? []));
    return `import type { ${[...names].sort().join(', ')} } from '${module}';`;
  });
  const tables = [...new Set(rows.map(({ table }) => table))].map((table) => {
    const fields = rows
      .filter((column) => column.table === table)
      .map((column) => `    ${camelCase(column.name)}: ${typeOf(column)};`);
    return [`  ${camelCase(table)}: {`, ...fields, '  };'].join('\n');
  });
  return `// Generated from the migrations by scripts/ledger-tables.ts, which test/ledger/migrate.test.ts runs.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
${imports.join('\n')}

/** Tables in camelCase, as queries name them. numeric and int8 are bigint. */
export interface Tables {
${tables.join('\n')}
}
`;
}
