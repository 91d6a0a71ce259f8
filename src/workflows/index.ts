export { addressAudit } from './address-audit.ts';
export { depositRescan } from './deposit-rescan.ts';
export { depositScan } from './deposit-scan.ts';
export { nonceUpkeep } from './nonce-upkeep.ts';
export { orphans } from './orphans.ts';
export { reconciliation } from './reconciliation.ts';
export { nodeWatch, walletWatch } from './watches.ts';
export { webhookDelivery } from './webhook-delivery.ts';
export { withdrawal } from './withdrawal.ts';
