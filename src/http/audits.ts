import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Audit, AuditDifference, AuditReport } from '../client/audits.ts';
import { type AuditDeps, auditOf, beginAudit } from './audit-run.ts';
import { addressParam, inOrder, outOfOrder, position, problems, u64 } from './schemas.ts';

const tags = ['operations'];
const asked = {
  address: addressParam.describe('A wallet of ours'),
  from: position.describe('The first slot'),
  to: position.describe('The last slot, which the scan has passed'),
};

const QuestionBody = z
  .strictObject({
    ...asked,
    repair: z.boolean().default(false).describe('Put on record what is missing there'),
  })
  .refine(inOrder, outOfOrder);

const QuestionQuery = z
  .strictObject({
    ...asked,
    repair: z
      .enum(['true', 'false'])
      .default('false')
      .transform((word) => word === 'true'),
  })
  .refine(inOrder, outOfOrder);

const DifferenceBody = z
  .object({
    signature: z.string().describe('The transaction, base58'),
    slot: u64.describe('Slot of its block'),
    account: z.string().describe('The wallet for SOL, else a token account'),
    asset: z.string().describe('`SOL`, or the address of a mint'),
    chain: u64.nullable().describe('Base units; null where the chain shows no such arrival'),
    record: u64.nullable().describe('Base units; null where it was not on record'),
    repaired: z.boolean().describe('True where the record says now what the chain says'),
  })
  .meta({ id: 'AuditDifference' }) satisfies z.ZodType<AuditDifference>;

const ReportBody = z
  .object({
    addresses: z.int().describe('How many were audited'),
    transactions: z.int().describe('How many were looked at'),
    differences: z
      .array(DifferenceBody)
      .readonly()
      .describe('At most 100 arrivals of which chain and record said different things'),
    found: z.int().describe('How many differences there were; `differences` lists some'),
    remaining: z.int().describe('How many of them are not repaired'),
    unread: z.int().describe('What no quorum of nodes shows now; 0 where the audit is whole'),
  })
  .meta({ id: 'AuditReport' }) satisfies z.ZodType<AuditReport>;

const AuditBody = z
  .object({
    address: z.string().describe('The wallet'),
    from: u64.describe('The first slot'),
    to: u64.describe('The last slot'),
    repair: z.boolean().describe('Whether what is missing is put on record'),
    state: z.enum(['running', 'done', 'failed']).describe('How the newest run of it stands'),
    report: ReportBody.nullable().describe('Null while it runs, and where it failed'),
    why: z.string().nullable().describe('One sentence for people where it failed, else null'),
  })
  .meta({ id: 'Audit' }) satisfies z.ZodType<Audit>;

const response = { 200: AuditBody, ...problems };

/** `/v1/audits`: what nodes list for one address, held against the record. */
export function auditRoutes(deps: AuditDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/audits',
      schema: {
        tags,
        summary: 'Audit one address over some slots, both ends included',
        description: 'The same audit that runs is joined. It goes on by itself; GET tells how it ended.',
        body: QuestionBody,
        response,
      },
      handler: ({ caller, body }) => beginAudit(deps, body, caller),
    });
    app.route({
      method: 'GET',
      url: '/v1/audits',
      schema: { tags, summary: 'How the newest such audit stands', querystring: QuestionQuery, response },
      handler: ({ query }) => auditOf(deps, query),
    });
  };
}
