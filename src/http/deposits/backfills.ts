import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { AuditDifference, AuditReport } from '../../domain/audit.ts';
import { BACKFILL_STATES } from '../../domain/backfill.ts';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { mapPage } from '../../ledger/page.ts';
import { type BackfillRow, type BackfillSubject, commandOf } from '../../ledger/scan/backfills.ts';
import { startBackfill } from '../../platform/temporal/starts.ts';
import { listRoute, route } from '../route.ts';
import { addressParam, inOrder, position, reason, text, textOrNull, time, u64 } from '../schemas.ts';
import { onStartFailure } from '../temporal-errors.ts';

interface BackfillDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
}

const count = z.int().nonnegative();
const DifferenceBody = z
  .object({
    signature: text('Signature of the transaction in base58'),
    slot: u64.describe('Slot of the block'),
    account: text('Account of the deposit: the wallet for SOL, or else a token account'),
    asset: text('`SOL` or the address of a mint'),
    chain: u64.nullable().describe('Base units that the account received on chain; null if it received none'),
    stored: u64.nullable().describe('Base units in the database; null if the database had no such deposit'),
    repaired: z.boolean().describe('Whether the audit corrected the database'),
  })
  .meta({ id: 'AuditDifference' }) satisfies z.ZodType<AuditDifference>;

const ReportBody = z
  .object({
    transactions: count.describe('Number of transactions examined'),
    differences: z
      .array(DifferenceBody)
      .readonly()
      .describe('Deposits that differ between the chain and the database; at most 100'),
    found: count.describe('Total number of differences'),
    remaining: count.describe('Number of differences that are not repaired'),
    unread: count.describe('Number of transactions that no quorum of nodes returned; 0 for a complete audit'),
  })
  .meta({ id: 'AuditReport' }) satisfies z.ZodType<AuditReport>;

const rangeFields = {
  from: position.describe('First slot of the range'),
  to: position.describe('Last slot of the range; the scan must have passed it'),
  reason,
};

export const RangeBody = z.strictObject(rangeFields).transform(inOrder);

const RequestBody = z
  .strictObject({
    ...rangeFields,
    address: addressParam
      .nullable()
      .default(null)
      .describe(
        'Address of a watched wallet whose history is read; null to read the blocks again for all wallets',
      ),
    repair: z
      .boolean()
      .optional()
      .describe(
        'Whether missing deposits are recorded. Default: false with an address; without an address always true',
      ),
  })
  .refine(({ address, repair }) => address !== null || repair !== false, {
    path: ['repair'],
    message: 'must not be false without an address',
  })
  .meta({
    id: 'BackfillRequest',
    // The JSON schema of the refinement: without an address, `repair` can only be true.
    anyOf: [
      { properties: { repair: { const: true, description: 'Always true without an address' } } },
      {
        properties: { address: { type: 'string', description: 'Address of a watched wallet' } },
        required: ['address'],
      },
    ],
  })
  .transform(({ repair, ...body }) => inOrder({ ...body, repair: repair ?? body.address === null }));

export const BackfillBody = z
  .object({
    id: u64.describe('Number of the backfill'),
    address: textOrNull(
      'Address of the wallet whose history is read; null if the blocks are read again for all wallets',
    ),
    from: u64.describe('First slot of the range'),
    to: u64.describe('Last slot of the range'),
    repair: z.boolean().describe('Whether missing deposits are recorded'),
    actor: text('Name of the API key or operator that requested the backfill'),
    reason: text('Reason for the backfill'),
    state: z
      .enum(BACKFILL_STATES)
      .describe(
        '`waiting`: the last try failed because of `trouble`; Sluice tries again. `given_up`: the backfill ended early because of `trouble`. `incomplete`: the backfill has ended, but nodes did not return the blocks of the slots in `unread`, or all of the history of the address',
      ),
    readTo: u64
      .nullable()
      .describe('Slot up to which blocks are read, apart from gaps; null before the first block'),
    blocks: count.describe('Number of blocks read'),
    found: count.describe('Number of deposits on chain that differed from the database'),
    unread: z
      .array(
        z.object({
          from: u64.describe('First slot of the range'),
          to: u64.describe('Last slot of the range'),
        }),
      )
      .readonly()
      .describe(
        'Slot ranges of closed gaps whose blocks no node returned; empty until the backfill has tried to read these gaps',
      ),
    report: ReportBody.nullable().describe(
      'Result of the audit of an address; null for a backfill of blocks, and until the backfill has ended',
    ),
    trouble: textOrNull('Why the last try of the backfill failed; null if it did not fail'),
    begunAt: time.describe('Time at which the backfill was requested'),
    endedAt: time.nullable().describe('Time at which the backfill ended; null until then'),
  })
  .meta({ id: 'Backfill' });

const tags = ['operations'];

export function backfillRoutes(app: FastifyInstance, deps: BackfillDeps): void {
  const { backfills } = deps.ledger;
  route(app, 'POST', '/v1/backfills', {
    operationId: 'startBackfill',
    tags,
    summary: 'Read blocks or the history of an address again',
    description:
      'Reads the slots between `from` and `to` again, both included, in either order. Missing deposits are added; no deposit is removed. With `address`, the transactions of that wallet on chain are compared with its recorded deposits. If the same backfill is running, the response describes that one. 409 `SlotsNotRecorded`: the database does not have all of these slots; the `detail` of the problem names the first or the last slot that it has.',
    body: RequestBody,
    response: BackfillBody,
    handler: async ({ caller: actor, body }) => presentBackfill(await begin(deps, { ...body, actor })),
  });
  listRoute(app, '/v1/backfills', {
    operationId: 'listBackfills',
    tags,
    summary: 'List backfills, newest first',
    pageId: 'BackfillPage',
    itemsField: 'backfills',
    item: BackfillBody,
    filter: {},
    find: async (request) => mapPage(await backfills.list(request), presentBackfill),
  });
  route(app, 'GET', '/v1/backfills/:id', {
    operationId: 'getBackfill',
    tags,
    summary: 'Get a backfill',
    params: z.object({ id: position.describe('Number of the backfill') }),
    response: BackfillBody,
    handler: async ({ params: { id } }) => presentBackfill(await backfills.get(id)),
  });
}

/** @throws DomainError NotFound for an address that is not watched; SlotsNotRecorded; Unavailable */
async function begin(
  { ledger, temporal }: BackfillDeps,
  request: BackfillSubject & OperatorNote,
): Promise<BackfillRow> {
  const { address = null } = request;
  if (address !== null && !(await ledger.watched.watchKindsOf([address])).has(address))
    throw new DomainError('NotFound', `${address} is not a watched wallet`, { address });
  const row = await ledger.backfills.begin(request);
  await startBackfill(temporal, commandOf(row)).catch(onStartFailure('the backfill'));
  return row;
}

export function presentBackfill(row: BackfillRow) {
  return { ...row, id: row.position, from: row.fromSlot, to: row.toSlot, state: stateOf(row) };
}

function stateOf({ trouble, endedAt, unread, report }: BackfillRow): (typeof BACKFILL_STATES)[number] {
  if (endedAt === null) return trouble === null ? 'reading' : 'waiting';
  if (trouble !== null) return 'given_up';
  return unread.length === 0 && (report?.unread ?? 0) === 0 ? 'done' : 'incomplete';
}
