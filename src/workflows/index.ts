export { nonceUpkeep } from './nonce-upkeep.ts';
export { orphans } from './orphans.ts';
export { nodeWatch, walletWatch } from './watches.ts';
export { webhookDelivery } from './webhook-delivery.ts';
export { withdrawal } from './withdrawal.ts';
