import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/**
 * Worker options for the workflow code: the bundle of `npm run build`, or the sources, which the SDK bundles at the
 * start. `preloadModules` loads modules once for all workflows, which is safe because they have no state, and saves
 * most of the CPU time of a workflow.
 */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  if (!import.meta.url.endsWith('.ts'))
    return { workflowBundle: { codePath: path('../../workflow-bundle.js') } };
  const workflowsPath = path('../../workflows/index.ts');
  return { workflowsPath, bundlerOptions: { preloadModules: [workflowsPath] } };
}
