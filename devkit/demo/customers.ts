import { setTimeout as sleep } from 'node:timers/promises';
import type { WithdrawalTerms } from '../../src/client/client.ts';
import { mintsOf } from '../localstack/chain.ts';
import { newAddress } from '../localstack/keypair.ts';
import { lamportsOf, rpc } from '../localstack/rpc.ts';
import type { Stage } from './stage.ts';

export interface WithdrawalCase {
  readonly what: string;
  readonly terms: WithdrawalTerms;
}

export interface Customers {
  readonly paid: readonly WithdrawalCase[];
  readonly rejected: WithdrawalCase;
  /** The withdrawal whose worker is killed. Each attempt has a new id and the same destination. */
  readonly crash: (attempt: number) => WithdrawalCase;
}

const FUNDED_LAMPORTS = 10_000_000;

/** Funds the wallets of the customers on the chain. Throws on a chain of `SLUICE_RPC_URLS`, which has no development mints. */
export async function createCustomers(stage: Stage): Promise<Customers> {
  const { mint, feeMint } = mintsOf(stage.stack.chainInfo);
  if (mint === undefined || feeMint === undefined)
    throw new Error('the demo needs its own chain: unset SLUICE_RPC_URLS');
  const funded = await Promise.all([1, 2, 3, 4].map(() => fundedWallet(stage)));
  const [existing = '', holder = '', feeHolder = '', crashed = ''] = funded;
  const run = Date.now().toString(36);
  const sol = (name: string, amount: string, destination: string): WithdrawalTerms => ({
    id: `demo-${run}-${name}`,
    asset: 'SOL',
    amount,
    destination,
  });
  const paid: readonly WithdrawalCase[] = [
    { what: 'SOL to an existing wallet', terms: sol('sol', '1500000000', existing) },
    {
      what: 'SOL to an empty wallet',
      terms: { ...sol('sol-empty', '20000000', newAddress()), acceptEmptyWallet: true },
    },
    {
      what: 'token to a wallet without a token account',
      terms: { ...sol('token', '12500000', holder), asset: mint },
    },
    {
      what: 'Token-2022 with a transfer fee',
      terms: { ...sol('token-2022', '1000000', feeHolder), asset: feeMint, memo: 'invoice 2022' },
    },
  ];
  return {
    paid,
    rejected: { what: 'SOL to the address of a mint', terms: sol('to-a-mint', '1000000000', mint) },
    crash: (attempt) => ({
      what: 'SOL, worker killed after the send',
      terms: sol(`crash-${attempt}`, '250000000', crashed),
    }),
  };
}

async function fundedWallet({ node, signal }: Stage): Promise<string> {
  const wallet = newAddress();
  await rpc(node, 'requestAirdrop', [wallet, FUNDED_LAMPORTS]);
  while ((await lamportsOf(node, wallet, 'finalized')) === 0) await sleep(200, undefined, { signal });
  return wallet;
}
