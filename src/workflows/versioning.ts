import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Options of workflows that settle: a run ends on the version that began it. The server refuses every workflow task in which an unversioned
 * worker names a behavior, so there is none for a run that an unversioned worker began.
 */
export function pinnedIfVersioned(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion === undefined ? {} : { versioningBehavior: 'PINNED' };
}
