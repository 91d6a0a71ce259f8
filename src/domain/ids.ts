import { WITHDRAWAL } from './settlement.ts';
import type { DeliveryLine } from './webhook.ts';

/** Task queue of workflows, and of the short steps that prepare payments. */
export const WORKFLOW_TASK_QUEUE = 'sluice';

/** Task queue of the waits for a landing: each may last for days, and there are as many as payments are on their way. */
export const LANDING_TASK_QUEUE = 'sluice-landing';

/**
 * Task queue of what looks after chain, nodes and record. How much that is does not depend on the payments, and none of them holds it up.
 */
export const WATCH_TASK_QUEUE = 'sluice-watch';

/**
 * Task queue of audits and rescans, which may take hours and be as many as addresses are: few run at once, and what watches waits for
 * none.
 */
export const AUDIT_TASK_QUEUE = 'sluice-audit';

/** Task queue of settlements whose callers wait for an answer: its workers sign, send and answer by themselves. */
export const QUICK_TASK_QUEUE = 'sluice-x402';

/** Task queue of the only process that holds keys. */
export const SIGNER_TASK_QUEUE = 'sluice-signer';

/** Task queue of the tries to tell webhooks, which may take their time. */
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

/** One run at a time tells one endpoint of one thing, so that it hears the events in their order. */
export function webhookWorkflowId({ endpoint, entity }: DeliveryLine): string {
  return `webhook/${endpoint}/${entity}`;
}

/** The one run that scans a cluster for deposits. */
export function depositScanWorkflowId(cluster: string): string {
  return `deposit-scan/${cluster}`;
}
