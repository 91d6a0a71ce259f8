import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Options of workflows that settle: a run ends on the version that began it. The server refuses every workflow task in which an unversioned
 * worker names a behavior, so there is none for a run that an unversioned worker began. Such a worker has a build ID and no deployment.
 */
export function pinnedIfVersioned(): WorkflowDefinitionOptions {
  const deployment = workflowInfo().currentDeploymentVersion?.deploymentName ?? '';
  return deployment === '' ? {} : { versioningBehavior: 'PINNED' };
}
