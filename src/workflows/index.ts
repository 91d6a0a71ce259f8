export { addressAudit } from './address-audit.ts';
export { depositRescan } from './deposit-rescan.ts';
export { depositScan } from './deposit-scan.ts';
export { orphans } from './orphans.ts';
export { reconciliation } from './reconciliation.ts';
export { settlement } from './settlement.ts';
export { nodeWatch, walletWatch } from './watches.ts';
export { webhookDelivery } from './webhook-delivery.ts';
export { withdrawal } from './withdrawal.ts';
