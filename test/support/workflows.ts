import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowSource } from '../../src/platform/roles/workflow-source.ts';
import { sharedService } from './services.ts';

/** The `workflowBundle` option of a Temporal worker. */
export interface WorkflowBundleFile {
  readonly codePath: string;
}

/** All workflows, bundled once for the workers of all test files: each bundle takes some seconds. */
export function testWorkflows(): Promise<WorkflowBundleFile> {
  return sharedService('workflows');
}

/** Writes that bundle into a directory, with the options of a worker that runs from its sources. */
export async function bundleWorkflows(directory: string): Promise<WorkflowBundleFile> {
  const { workflowsPath, bundlerOptions } = workflowSource();
  if (workflowsPath === undefined) throw new Error('the tests run from sources');
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    ...bundlerOptions,
    logger: new DefaultLogger('WARN'),
  });
  const codePath = join(directory, 'workflow-bundle.js');
  await writeFile(codePath, code);
  return { codePath };
}
