import type { Client } from '@temporalio/client';
import { newWallet } from '../devkit/localnet/wallet.ts';
import { paymentsOnChain } from '../devkit/localstack/chain-truth.ts';
import type { Stack } from '../devkit/localstack/stack.ts';
import { withdrawalWorkflowId } from '../src/domain/ids.ts';
import { startWithdrawal } from '../src/platform/temporal/starts.ts';
import { drive, type Load } from './load.ts';

export const AMOUNT_LAMPORTS = '1000000';

/** Withdrawals as the API starts them, each to a new wallet; a withdrawal ends when it is finalized. */
export async function payRound(
  client: Client,
  name: string,
  count: number,
  inFlight: number,
): Promise<{ readonly load: Load; readonly destinations: ReadonlyMap<string, string> }> {
  const all = Array.from({ length: count }, (_, index) => ({
    id: `bench-${name}-${index}`,
    asset: 'SOL',
    amount: AMOUNT_LAMPORTS,
    destination: newWallet().address,
    acceptEmptyWallet: true,
  }));
  const load = await drive(count, inFlight, async (index) => {
    const terms = all[index];
    if (terms === undefined) throw new Error(`no withdrawal ${index}`);
    await startWithdrawal(client, terms);
    const { status } = await client.workflow.getHandle(withdrawalWorkflowId(terms.id)).result();
    if (status !== 'finalized') throw new Error(`withdrawal ${terms.id} ended as ${status}`);
  });
  return { load, destinations: new Map(all.map(({ id, destination }) => [id, destination])) };
}

/** Reads only finalized blocks. Throws unless each destination was paid exactly once with the amount. */
export async function countTransfers(stack: Stack, destinations: ReadonlySet<string>): Promise<number> {
  const payments = await paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet);
  const matching = payments.filter(({ wallet }) => destinations.has(wallet));
  const wallets = new Set(matching.map(({ wallet }) => wallet));
  const wrong = matching.find(({ received }) => received !== BigInt(AMOUNT_LAMPORTS));
  if (wallets.size !== matching.length || wrong !== undefined)
    throw new Error(`${matching.length} transfers to ${wallets.size} wallets: something was paid wrongly`);
  return matching.length;
}
