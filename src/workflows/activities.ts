import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { SignerActivities } from '../activities/signing.ts';
import type { WithdrawalActivities } from '../activities/withdrawals.ts';
import { LAND, PREPARE, RECORD, SIGN } from './options.ts';

const onRecord = (summary: string) => proxyLocalActivities<WithdrawalActivities>({ ...RECORD, summary });

export const { admit } = onRecord('reserve the id, find earlier attempts');
export const { confirm } = onRecord("put the customer's word on record");
export const { cancel } = onRecord('cancel where nothing was prepared');
export const { hold } = onRecord('set aside');
export const { prepareAttempt } = proxyActivities<WithdrawalActivities>(PREPARE);
export const { signTransaction } = proxyActivities<SignerActivities>(SIGN);
export const { landAttempt } = proxyActivities<WithdrawalActivities>(LAND);
