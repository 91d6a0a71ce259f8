import { WITHDRAWAL } from './settlement-kinds.ts';
import type { DeliveryLine } from './webhook.ts';

/** Task queue of workflows and of the short activities that prepare payments. */
export const WORKFLOW_TASK_QUEUE = 'sluice';

/** Task queue of the activities that wait for sent transactions: one for each, for up to days. */
export const LANDING_TASK_QUEUE = 'sluice-landing';

/** Task queue of chain, node and database monitoring, which payments must not delay. */
export const WATCH_TASK_QUEUE = 'sluice-watch';

/** Task queue of audits and rescans. They can take hours, so they must not delay monitoring. */
export const AUDIT_TASK_QUEUE = 'sluice-audit';

/** Task queue of settlements whose callers wait for a response. Its workers sign, send and respond themselves. */
export const QUICK_TASK_QUEUE = 'sluice-x402';

/** Task queue of the signer, the only process with the hot wallet's key. */
export const SIGNER_TASK_QUEUE = 'sluice-signer';

export const WEBHOOK_TASK_QUEUE = 'sluice-webhooks';

/** The one workflow id under which a withdrawal may run: `withdrawal/<id>`. */
export function withdrawalWorkflowId(id: string): string {
  return settlementWorkflowId({ kind: WITHDRAWAL, subjectId: id });
}

/** The one workflow id under which a settlement may run: `<kind>/<subject>`. */
export function settlementWorkflowId({
  kind,
  subjectId,
}: {
  readonly kind: string;
  readonly subjectId: string;
}): string {
  return `${kind}/${subjectId}`;
}

/** Id of the one workflow that delivers the events of an entity to an endpoint, so that they are received in order. */
export function webhookWorkflowId({ endpoint, entity }: DeliveryLine): string {
  return `webhook/${endpoint}/${entity}`;
}

export function depositScanWorkflowId(cluster: string): string {
  return `deposit-scan/${cluster}`;
}
