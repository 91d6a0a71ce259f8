export const BASELINE_TASK_QUEUE = 'bench-baseline';
export const BASELINE_WORKFLOW = 'threeActivities';
