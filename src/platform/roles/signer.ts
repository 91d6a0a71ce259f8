import { type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createSignerActivities } from '../../activities/signing.ts';
import { SIGNER_TASK_QUEUE } from '../../domain/ids.ts';
import {
  NONCE_ADVANCE,
  NONCE_CREATE,
  type SettlementKind,
  WITHDRAWAL,
  X402,
} from '../../domain/settlement-kinds.ts';
import { allowsHooks } from '../../domain/token-rules.ts';
import type { SigningBounds, SigningRule } from '../../signing/checks.ts';
import { FeeSpend } from '../../signing/fee-spend.ts';
import { nonceAdvanceRule, nonceCreateRule } from '../../signing/policy/nonces.ts';
import { withdrawalRule } from '../../signing/policy/withdrawal.ts';
import { loadKeypair, type Signer } from '../../signing/signer.ts';
import { feePayerKeyName } from '../../x402/kind.ts';
import { paymentRule } from '../../x402/rules/signing-policy.ts';
import type { Config } from '../config.ts';
import { workerOptions } from './run.ts';

export const SIGNING_RULES: Readonly<Record<SettlementKind, SigningRule>> = {
  [WITHDRAWAL]: withdrawalRule,
  [X402]: paymentRule,
  [NONCE_CREATE]: nonceCreateRule,
  [NONCE_ADVANCE]: nonceAdvanceRule,
};

/**
 * Worker that signs; it needs no nodes and no database. Fee payer keys can be at the x402 worker instead. `decorate`
 * wraps the hot key.
 */
export async function signerWorker(
  config: Config<'signer'>,
  connection: NativeConnection,
  decorate: (signer: Signer) => Signer = (signer) => signer,
): Promise<Worker> {
  const signer = decorate(await loadKeypair(config.keypair));
  const feePayers = await Promise.all(config.feePayerKeyFiles.map(loadKeypair));
  return Worker.create({
    ...workerOptions(config, connection, SIGNER_TASK_QUEUE),
    activities: createSignerActivities({
      keys: { hot: signer, ...feePayerKeys(feePayers) },
      bounds: signingBounds(config),
      rules: SIGNING_RULES,
    }),
  });
}

export function feePayerKeys(signers: readonly Signer[]): Readonly<Record<string, Signer>> {
  return Object.fromEntries(signers.map((signer) => [feePayerKeyName(signer.address), signer]));
}

/** Limits on what is signed, from the settings of this process. A chain worker composes within its own limits. */
export function signingBounds({
  priorityCapMicroLamports,
  maxFeeLamports,
  tokenPolicy,
  allowVaults,
  x402MaxFeeLamports,
  x402MaxComputeUnits: maxComputeUnits,
  x402FeePayerBudget: lamportsPerHour,
}: Config): SigningBounds {
  const onLimit = (message: string) =>
    Runtime.instance().logger.warn(`no x402 payment is signed with this key for now: ${message}`);
  const spend = new FeeSpend({ lamportsPerHour, onLimit });
  return {
    payments: { maxFeeLamports: x402MaxFeeLamports, maxComputeUnits, spend },
    maxFeeLamports,
    priceCapMicroLamports: priorityCapMicroLamports,
    allowHookAccounts: allowsHooks(tokenPolicy),
    allowVaults,
  };
}
