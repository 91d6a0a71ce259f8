import { setTimeout as sleep } from 'node:timers/promises';
import { rpc } from '../devkit/localstack/rpc.ts';
import { retryWhileUnavailable } from './unavailable.ts';

interface ConfirmationStatus {
  readonly confirmationStatus: string;
  readonly err: unknown;
}

const FINALIZED = { commitment: 'finalized' };
const LOOK_EVERY_MS = 500;

/** Calls an RPC method as on a node without faults. */
export async function healthy<T>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return retryWhileUnavailable(() => rpc<T>(url, 'localnet_healthy', [method, ...params]));
}

/** A signed transaction, as its sender knows it. */
export interface SentTransaction {
  readonly signature: string;
  readonly raw: Uint8Array;
  /** The last height of a block that can contain it, or a greater one. */
  readonly lastHeight: number;
}

/**
 * Sends the same bytes until they are final: `landed`, or `failed` if they failed in their block. `dead` once no block can
 * contain them: the last height is final, and they are in no block.
 */
export async function outcomeOf(
  url: string,
  sent: SentTransaction,
  end: AbortSignal,
): Promise<'landed' | 'failed' | 'dead'> {
  const { signature, raw, lastHeight } = sent;
  const bytes = Buffer.from(raw).toString('base64');
  for (;;) {
    const height = await healthy<number>(url, 'getBlockHeight', FINALIZED);
    const status = await finalStatus(url, signature);
    if (status !== null) return status.err === null ? 'landed' : 'failed';
    if (height > lastHeight) return 'dead';
    // A node refuses it if it has landed already; the status above shows that.
    await healthy(url, 'sendTransaction', bytes, { encoding: 'base64', skipPreflight: true }).catch(
      () => undefined,
    );
    await sleep(LOOK_EVERY_MS, undefined, { signal: end });
  }
}

/** Null if the transaction is not final. */
export async function finalStatus(url: string, signature: string): Promise<ConfirmationStatus | null> {
  const { value } = await healthy<{ value: readonly (ConfirmationStatus | null)[] }>(
    url,
    'getSignatureStatuses',
    [signature],
    { searchTransactionHistory: true },
  );
  const [status = null] = value;
  return status?.confirmationStatus === 'finalized' ? status : null;
}
