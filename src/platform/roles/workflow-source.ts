import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/**
 * `npm run build` bundles the workflows; from source they are bundled at the start. Their modules have no state, so all
 * workflows share them: evaluating them for each workflow costs more CPU time than the workflow.
 */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  if (!import.meta.url.endsWith('.ts'))
    return { workflowBundle: { codePath: path('../../workflow-bundle.js') } };
  const workflowsPath = path('../../workflows/index.ts');
  return { workflowsPath, bundlerOptions: { preloadModules: [workflowsPath] } };
}
