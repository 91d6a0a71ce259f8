import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowSource } from '../../src/platform/roles/workflow-source.ts';
import type { WorkflowBundleFile } from './workflows.ts';

/** Writes a bundle of all workflows into a directory, with the options of a worker that runs from its sources. */
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
