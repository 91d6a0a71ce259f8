import { z } from 'zod';
import type { SettlementPage, SettlementView } from '../client/settlements.ts';
import { SETTLEMENT_STATUSES } from '../domain/settlement.ts';
import { nextCursor, pageQuery, time } from './schemas.ts';
import { Reason } from './withdrawal-schemas.ts';

const SettlementStatusBody = z.enum(SETTLEMENT_STATUSES).meta({ id: 'SettlementStatus' });

export const settlementFields = {
  id: z.string().describe('Id of the withdrawal, or `<kind>/<subject>` for every other kind'),
  kind: z.string().describe('What it is, such as `withdrawal` or `nonce-create`'),
  subject: z.string().describe('What it is about; unique within the kind'),
  status: SettlementStatusBody.describe('How far it is'),
  reason: Reason,
  signature: z.string().nullable().describe('base58, of the newest signed attempt; null until one is signed'),
  workflowId: z.string().describe('Id of the Temporal workflow that settles it'),
  createdAt: time.describe('When it was asked for'),
  updatedAt: time.describe('When it last changed'),
};

/** A settlement of any kind. */
export const SettlementViewBody = z
  .object(settlementFields)
  .meta({ id: 'SettlementView' }) satisfies z.ZodType<SettlementView>;

/** One page of GET /v1/settlements. */
export const SettlementPageBody = z
  .object({
    settlements: z.array(SettlementViewBody).readonly().describe('Newest first'),
    nextCursor,
  })
  .meta({ id: 'SettlementPage' }) satisfies z.ZodType<SettlementPage>;

/** The longest id holds a kind, two addresses and slashes; a withdrawal's has up to 128 characters. */
const visible = z.string().regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 visible ASCII characters');

export const SettlementQuery = z.strictObject({
  kind: visible.optional(),
  subject: visible.optional(),
  status: z.enum(SETTLEMENT_STATUSES).optional(),
  signature: visible.optional().describe('base58 signature of any of its attempts'),
  ...pageQuery,
});

/** The id of a settlement holds slashes, so it is no part of a path. */
export const SettlementIdQuery = z.strictObject({
  id: visible.describe('Id of the settlement, percent-encoded'),
});
