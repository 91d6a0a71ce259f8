import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Pins a settlement run to the version of its worker. A worker with a build ID but no deployment is unversioned: the
 * server rejects its tasks if they name a versioning behavior, so none is set.
 */
export function pinnedIfVersioned(): WorkflowDefinitionOptions {
  const deployment = workflowInfo().currentDeploymentVersion?.deploymentName ?? '';
  return deployment === '' ? {} : { versioningBehavior: 'PINNED' };
}
