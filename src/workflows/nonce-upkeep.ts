import { proxyActivities } from '@temporalio/workflow';
import type { NonceUpkeepActivities } from '../activities/nonce-upkeep.ts';
import type { SignerActivities } from '../activities/signing.ts';
import type { NonceUpkeepEnd, NonceUpkeepRequest } from '../domain/steps.ts';
import { LAND, PREPARE, SIGN } from './options.ts';

const { prepareUpkeep } = proxyActivities<NonceUpkeepActivities>(PREPARE);
const { signUpkeep } = proxyActivities<SignerActivities>(SIGN);
const { landUpkeep } = proxyActivities<NonceUpkeepActivities>(LAND);

/**
 * Makes a nonce account, or uses up the nonce that an attempt carries, which the ordinary judge then finds dead; null where there is
 * nothing to do. Started by operators (`sluice nonces`); a dead transaction is tried again.
 */
export async function nonceUpkeep(request: NonceUpkeepRequest): Promise<NonceUpkeepEnd | null> {
  for (;;) {
    const task = await prepareUpkeep(request);
    if (task === null) return null;
    const { signature } = await signUpkeep(task);
    const end = await landUpkeep({ messageHash: task.messageHash, signature });
    if (end.state !== 'dead') return end;
  }
}
