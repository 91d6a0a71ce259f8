import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { QuickActivities } from '../activities/quick-settlements.ts';
import type { SettlementActivities } from '../activities/settlements.ts';
import type { SignerActivities } from '../activities/signing.ts';
import type { WithdrawalActivities } from '../activities/withdrawals.ts';
import type { X402Activities } from '../activities/x402.ts';
import { LAND, LAND_QUICK, PREPARE, QUICK, RECORD, SERVE, SIGN } from './options.ts';

type Activities = WithdrawalActivities & SettlementActivities;

const onRecord = (summary: string) => proxyLocalActivities<Activities>({ ...RECORD, summary });

export const { admit } = onRecord('reserve the id, find earlier attempts');
export const { confirm } = onRecord("put the customer's word on record");
export const { cancel } = onRecord('cancel where nothing was prepared');
export const { hold, holdSettlement } = onRecord('set aside');
export const { findSettlement } = onRecord('find earlier attempts');
export const { storeSignature } = onRecord('store a signature');
export const { prepareAttempt, prepareSettlement } = proxyActivities<Activities>(PREPARE);
export const { awaitSignatures } = proxyActivities<Activities>({
  ...PREPARE,
  summary: 'wait for signatures from outside',
});
export const { signTransaction } = proxyActivities<SignerActivities>(SIGN);
export const { landAttempt } = proxyActivities<Activities>(LAND);
export const { landPayment } = proxyActivities<X402Activities>(LAND_QUICK);
export const { isOwed } = proxyLocalActivities<X402Activities>({
  ...RECORD,
  summary: 'see whether the buyer was served',
});
export const { serveOwed } = proxyActivities<X402Activities>(SERVE);
export const { settleQuickly } = proxyLocalActivities<QuickActivities>(QUICK);
