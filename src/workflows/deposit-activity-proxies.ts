import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import { PLAN, RECORD, SCAN } from './options.ts';

const onRecord = (summary: string) => proxyLocalActivities<DepositActivities>({ ...RECORD, summary });

export const { recordPause } = onRecord('put the pause on record');
export const { recordResume } = onRecord('end the pause on record');
export const { recordBackfillGivenUp } = onRecord('end the backfill in the database');
export const { planCatchUp } = proxyActivities<DepositActivities>({ ...PLAN, summary: 'how far behind' });
export const { scanRange } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'read a range ahead' });
export const { joinRanges } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'join what was read' });
export const { scanTail } = proxyActivities<DepositActivities>({ ...SCAN, summary: 'follow the chain' });
