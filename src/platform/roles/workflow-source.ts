import { fileURLToPath } from 'node:url';
import type { WorkerOptions } from '@temporalio/worker';

/**
 * `npm run build` bundles the workflows once; from source they are bundled at the start. Their modules keep no state of a run, so that
 * all runs of a worker share them: evaluated once for each run they cost more processor time than the run itself.
 */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'> {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  if (!import.meta.url.endsWith('.ts'))
    return { workflowBundle: { codePath: path('../../workflow-bundle.js') } };
  const workflowsPath = path('../../workflows/index.ts');
  return { workflowsPath, bundlerOptions: { preloadModules: [workflowsPath] } };
}
