import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Audit } from '../../client/audits.ts';
import { type AuditOrder, type AuditReport, auditWorkflowId } from '../../domain/audit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { assertReached } from '../../ledger/scan/scan-cursor.ts';
import { startAudit } from '../../platform/temporal/start-audit.ts';

export interface AuditDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
}

export interface Question {
  readonly address: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly repair: boolean;
}

const ANSWER_DEADLINE_MS = 3_000;

/**
 * Starts the audit, or joins a running one. @throws DomainError NotFound; InvalidRequest for slots that are not
 * scanned yet
 */
export async function beginAudit(deps: AuditDeps, question: Question, actor: string): Promise<Audit> {
  const { ledger, temporal } = deps;
  const { address, to } = question;
  if (!(await ledger.watched.among([address])).has(address))
    throw new DomainError('NotFound', `${address} is no address of ours`, { address });
  assertReached(await ledger.scan.cursor(), to);
  await startAudit(temporal, orderOf(question), `asked for by ${actor}`);
  return auditOf(deps, question);
}

/** State of the audit's newest run. @throws DomainError NotFound if Temporal has none */
export async function auditOf({ temporal }: AuditDeps, question: Question): Promise<Audit> {
  const order = orderOf(question);
  const { repair, from, to } = order;
  const asked = { address: question.address, from, to, repair };
  const handle = temporal.workflow.getHandle<() => Promise<AuditReport>>(auditWorkflowId(order));
  try {
    return await temporal.withDeadline(Date.now() + ANSWER_DEADLINE_MS, async () => {
      const { status } = await handle.describe();
      if (status.name === 'RUNNING') return { ...asked, state: 'running', report: null, reason: null };
      return { ...asked, state: 'done', report: await handle.result(), reason: null };
    });
  } catch (error) {
    if (error instanceof WorkflowFailedError)
      return { ...asked, state: 'failed', report: null, reason: rootOf(error).message };
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    throw new DomainError('NotFound', 'nobody asked for this audit, or its run is forgotten', asked);
  }
}

function orderOf({ address, from, to, repair }: Question): AuditOrder {
  return { address, from: from.toString(), to: to.toString(), repair, cause: 'operator' };
}

function rootOf(error: Error): Error {
  return error.cause instanceof Error ? rootOf(error.cause) : error;
}
