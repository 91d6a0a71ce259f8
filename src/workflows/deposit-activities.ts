import { proxyActivities } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { PLAN, SCAN } from './options.ts';

export const { planCatchUp } = proxyActivities<DepositActivities>({ ...PLAN, summary: 'how far behind' });
export const { scanRange } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'read a range ahead' });
export const { joinRanges } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'join what was read' });
export const { scanTail } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'follow the chain' });
