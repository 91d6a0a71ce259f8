import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { sharedService } from './services.ts';

/** The `workflowBundle` option of a Temporal worker. */
export interface WorkflowBundleFile {
  readonly codePath: string;
}

/** All workflows, bundled once for the workers of all test files: each bundle takes some seconds. */
export function testWorkflows(): Promise<WorkflowBundleFile> {
  return sharedService('workflows');
}

/** Writes that bundle into a directory. */
export async function bundleWorkflows(directory: string): Promise<WorkflowBundleFile> {
  const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    preloadModules: [workflowsPath],
    logger: new DefaultLogger('WARN'),
  });
  const codePath = join(directory, 'workflow-bundle.js');
  await writeFile(codePath, code);
  return { codePath };
}
