import type { NonceUpkeepRequest } from './steps.ts';

/** Task queue of workflows and of every activity but signing. */
export const WORKFLOW_TASK_QUEUE = 'sluice';

/** Task queue of the only process that holds keys. */
export const SIGNER_TASK_QUEUE = 'sluice-signer';

/** The one workflow id under which a withdrawal may run: `withdrawal/<id>`. */
export function withdrawalWorkflowId(id: string): string {
  return `withdrawal/${id}`;
}

/** One run at a time makes an account, or uses up a value of it. */
export function nonceUpkeepWorkflowId(request: NonceUpkeepRequest): string {
  const value = request.kind === 'advance' ? `/${request.nonce}` : '';
  return `nonce-${request.kind}/${request.address}${value}`;
}

/** The one run that scans a cluster for deposits. */
export function depositScanWorkflowId(cluster: string): string {
  return `deposit-scan/${cluster}`;
}
