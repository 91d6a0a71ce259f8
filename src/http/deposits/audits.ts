import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Audit, AuditDifference, AuditReport } from '../../client/audits.ts';
import { addressParam, inOrder, position, problems, u64 } from '../schemas.ts';
import { type AuditDeps, auditOf, beginAudit } from './audit-run.ts';

const tags = ['operations'];
const asked = {
  address: addressParam.describe('Address of a watched wallet'),
  from: position.describe('First slot'),
  to: position.describe('Last slot; the scan must have passed it'),
};

const QuestionBody = z
  .strictObject({
    ...asked,
    repair: z.boolean().default(false).describe('Record the missing deposits'),
  })
  .transform(inOrder);

const QuestionQuery = z
  .strictObject({
    ...asked,
    repair: z
      .enum(['true', 'false'])
      .default('false')
      .describe('Whether the audit records missing deposits')
      .transform((word) => word === 'true'),
  })
  .transform(inOrder);

const DifferenceBody = z
  .object({
    signature: z.string().describe('Signature of the transaction in base58'),
    slot: u64.describe('Slot of the block'),
    account: z.string().describe('The wallet for SOL, else a token account'),
    asset: z.string().describe('`SOL` or the address of a mint'),
    chain: u64.nullable().describe('Base units that arrived on chain; null if none did'),
    record: u64.nullable().describe('Base units in the database; null if it had no such deposit'),
    repaired: z.boolean().describe('Whether the audit corrected the database'),
  })
  .meta({ id: 'AuditDifference' }) satisfies z.ZodType<AuditDifference>;

const ReportBody = z
  .object({
    addresses: z.int().describe('Number of audited addresses'),
    transactions: z.int().describe('Number of transactions examined'),
    differences: z
      .array(DifferenceBody)
      .readonly()
      .describe('Deposits that differ between the chain and the database; at most 100'),
    found: z.int().describe('Total number of differences'),
    remaining: z.int().describe('Number of differences that are not repaired'),
    unread: z
      .int()
      .describe('Number of transactions that no quorum of nodes returned; 0 for a complete audit'),
  })
  .meta({ id: 'AuditReport' }) satisfies z.ZodType<AuditReport>;

const AuditBody = z
  .object({
    address: z.string().describe('Address of the wallet'),
    from: u64.describe('First slot'),
    to: u64.describe('Last slot'),
    repair: z.boolean().describe('Whether the audit records missing deposits'),
    state: z.enum(['running', 'done', 'failed']).describe('State of the newest run'),
    report: ReportBody.nullable().describe('Result; null while the audit runs and after a failure'),
    reason: z.string().nullable().describe('Why the audit failed, for display; else null'),
  })
  .meta({ id: 'Audit' }) satisfies z.ZodType<Audit>;

const response = { 200: AuditBody, ...problems };

export function auditRoutes(deps: AuditDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/audits',
      schema: {
        operationId: 'startAudit',
        tags,
        summary: 'Start an audit of an address',
        description:
          'Compares the chain with the database over the slots between `from` and `to`, both included, in either order. If the same audit is running, the response describes that run. Use GET to read the result.',
        body: QuestionBody,
        response,
      },
      handler: ({ caller, body }) => beginAudit(deps, body, caller),
    });
    app.route({
      method: 'GET',
      url: '/v1/audits',
      schema: {
        operationId: 'getAudit',
        tags,
        summary: 'Get the newest run of an audit',
        querystring: QuestionQuery,
        response,
      },
      handler: ({ query }) => auditOf(deps, query),
    });
  };
}
