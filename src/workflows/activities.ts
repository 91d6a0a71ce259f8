import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { SignerActivities } from '../activities/signing.ts';
import type { WithdrawalActivities } from '../activities/withdrawals.ts';
import { LAND, PREPARE, RECORD, SIGN } from './options.ts';

export const { admit, cancel, confirm, hold } = proxyLocalActivities<WithdrawalActivities>(RECORD);
export const { prepareAttempt } = proxyActivities<WithdrawalActivities>(PREPARE);
export const { signTransaction } = proxyActivities<SignerActivities>(SIGN);
export const { landAttempt } = proxyActivities<WithdrawalActivities>(LAND);
