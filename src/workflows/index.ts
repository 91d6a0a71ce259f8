export { addressAudit } from './address-audit.ts';
export { depositScan } from './deposit-scan.ts';
export { nonceUpkeep } from './nonce-upkeep.ts';
export { orphans } from './orphans.ts';
export { reconciliation } from './reconciliation.ts';
export { nodeWatch, walletWatch } from './watches.ts';
export { withdrawal } from './withdrawal.ts';
