export { backfill } from './backfill.ts';
export { depositScan } from './deposit-scan.ts';
export { reconciliation } from './reconciliation.ts';
export { orphans } from './restart-unfinished.ts';
export { settlement } from './settlement.ts';
export { nodeWatch, walletWatch } from './watches.ts';
export { webhookDelivery } from './webhook-delivery.ts';
export { withdrawal } from './withdrawal.ts';
export { x402Settlement } from './x402-settlement.ts';
