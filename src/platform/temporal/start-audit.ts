import type { Client } from '@temporalio/client';
import { type AuditOrder, auditWorkflowId } from '../../domain/audit.ts';
import { startJoined } from './starts.ts';

const CAUSES = { operator: '', import: 'an import: ' } as const;

/**
 * Starts an audit of one address, or joins a running one of the same order. `details`: longer text for
 * the Web UI.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export async function startAudit(
  client: Client,
  order: AuditOrder,
  details = '',
): Promise<{ readonly workflowId: string }> {
  const workflowId = auditWorkflowId(order);
  const summary = `${CAUSES[order.cause]}audit ${order.address} from slot ${order.from} to ${order.to}`;
  await startJoined(client, { type: 'addressAudit', workflowId, args: [order], summary, details });
  return { workflowId };
}
