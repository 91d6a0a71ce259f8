import { z } from 'zod';
import { SETTLEMENT_STATUSES } from '../../domain/settlement.ts';
import { time, settlementId as visible } from '../schemas.ts';
import { Reason } from '../withdrawals/withdrawal-schemas.ts';

const SettlementStatusBody = z.enum(SETTLEMENT_STATUSES).meta({ id: 'SettlementStatus' });

export const settlementFields = {
  id: z.string().describe('Id of the withdrawal; for every other kind `<kind>/<subject>`'),
  kind: z.string().describe('Kind of settlement, such as `withdrawal` or `nonce-create`'),
  subject: z.string().describe('Subject of the settlement; unique within its kind'),
  status: SettlementStatusBody.describe('Current status'),
  reason: Reason,
  signature: z
    .string()
    .nullable()
    .describe('Signature of the newest signed attempt in base58; null until one is signed'),
  workflowId: z.string().describe('Id of the Temporal workflow of the settlement'),
  createdAt: time.describe('Time of creation'),
  updatedAt: time.describe('Time of the last change'),
};

export const SettlementViewBody = z.object(settlementFields).meta({ id: 'SettlementView' });

export const settlementFilter = {
  kind: visible.optional(),
  subject: visible.optional(),
  status: z.enum(SETTLEMENT_STATUSES).optional(),
  signature: visible.optional().describe('base58 signature of any of its attempts'),
};

/** The id of a settlement contains slashes, so it is a query parameter and not part of the path. */
export const SettlementIdQuery = z.strictObject({
  id: visible.describe('Id of the settlement, percent-encoded'),
});
