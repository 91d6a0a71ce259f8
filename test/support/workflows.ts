import { sharedService } from './services.ts';

/** The `workflowBundle` option of a Temporal worker. */
export interface WorkflowBundleFile {
  readonly codePath: string;
}

/** All workflows, bundled once for the workers of all test files: each bundle takes some seconds. */
export function testWorkflows(): Promise<WorkflowBundleFile> {
  return sharedService('workflows');
}
