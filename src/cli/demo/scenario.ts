import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { SluiceClient, type Withdrawal, type WithdrawalTerms } from '../../client/client.ts';
import { type ChainPayment, paymentsOnChain } from '../../localstack/chain-truth.ts';
import { rpc } from '../../localstack/rpc.ts';
import type { Stack } from '../../localstack/stack.ts';
import type { DemoRow } from './table.ts';

/** What the demo shows; `ok` = all that should be paid is paid exactly once, and nothing else. */
export interface DemoReport {
  readonly ok: boolean;
  readonly withdrawals: {
    readonly requested: number;
    readonly finalized: number;
    readonly transfersOnChain: number;
  };
  readonly rejected: { readonly code: string; readonly message: string } | null;
  readonly workerKilled: boolean;
  readonly rows: readonly DemoRow[];
}

interface Case {
  readonly what: string;
  readonly terms: WithdrawalTerms;
}

const FUNDED_LAMPORTS = 10_000_000;

/** Pays five customers and turns one away; the last payment loses its worker between send and confirmation. */
export async function runScenario(stack: Stack, say: (line: string) => void): Promise<DemoReport> {
  const sluice = new SluiceClient({ baseUrl: stack.apiUrl, apiKey: stack.apiKey });
  const cases = await customers(stack);
  const crash = cases.crash;
  for (const each of [...cases.paid, cases.rejected]) {
    await sluice.withdraw(each.terms);
    say(`asked: ${each.what}`);
  }
  const paid = await Promise.all(cases.paid.map((each) => follow(sluice, each, say)));
  const rejected = await follow(sluice, cases.rejected, say);
  const workerKilled = await killBetweenSendAndConfirmation(stack, sluice, crash, say);
  const survivor = await follow(sluice, crash, say);
  const payments = await paymentsOnChain(stack.rpcUrls[0] ?? '', stack.hotWallet);
  return report(
    [...cases.paid, crash],
    [...paid, survivor],
    payments,
    cases.rejected,
    rejected,
    workerKilled,
  );
}

async function customers(stack: Stack) {
  const { mint, feeMint } = mintsOf(stack);
  const funded = await Promise.all(
    ['sol-existing', 'token-new-account', 'token-2022', 'crash'].map(() => fundedWallet(stack)),
  );
  const [existing = '', holder = '', feeHolder = '', crashed = ''] = funded;
  const run = Date.now().toString(36);
  const terms = (
    id: string,
    asset: string,
    amount: string,
    destination: string,
    more: Partial<WithdrawalTerms> = {},
  ): WithdrawalTerms => ({
    id: `demo-${run}-${id}`,
    asset,
    amount,
    destination,
    ...more,
  });
  const paid: Case[] = [
    { what: 'SOL to a wallet in use', terms: terms('sol', 'SOL', '1500000000', existing) },
    {
      what: 'SOL to an empty wallet',
      terms: terms('sol-empty', 'SOL', '20000000', newWallet(), { acceptEmptyWallet: true }),
    },
    { what: 'token, account made on the way', terms: terms('token', mint, '12500000', holder) },
    {
      what: 'Token-2022 with a transfer fee',
      terms: terms('token-2022', feeMint, '1000000', feeHolder, { memo: 'invoice 2022' }),
    },
  ];
  return {
    paid,
    crash: { what: 'SOL, worker killed after the send', terms: terms('crash', 'SOL', '250000000', crashed) },
    rejected: { what: 'SOL to the mint of a token', terms: terms('to-a-mint', 'SOL', '1000000000', mint) },
  };
}

/** Kills the worker with the bytes on their way, and starts another; true where the withdrawal was `sending` at that moment. */
async function killBetweenSendAndConfirmation(
  stack: Stack,
  sluice: SluiceClient,
  { what, terms }: Case,
  say: (line: string) => void,
): Promise<boolean> {
  say(`asked: ${what}`);
  let seen = await sluice.withdraw(terms);
  while (seen.attempts.length === 0 || seen.status === 'preparing') {
    await sleep(5);
    seen = await sluice.get(terms.id);
  }
  const { pid } = stack.worker;
  await stack.worker.kill('SIGKILL');
  const { status } = await sluice.get(terms.id);
  say(`killed worker ${pid} with SIGKILL while "${what}" was ${status}`);
  await stack.worker.start();
  say(
    `started worker ${stack.worker.pid}; it takes over when Temporal misses the heartbeats of the dead one`,
  );
  return status === 'sending';
}

async function follow(
  sluice: SluiceClient,
  { what, terms }: Case,
  say: (line: string) => void,
): Promise<Withdrawal> {
  let shown = '';
  return sluice.waitForFinal(terms.id, {
    pollMs: 200,
    onChange: ({ status, reason }) => {
      const line = `${what}: ${status}${reason === null ? '' : ` — ${reason.message}`}`;
      if (line !== shown) say(line);
      shown = line;
    },
  });
}

function report(
  cases: readonly Case[],
  results: readonly Withdrawal[],
  payments: readonly ChainPayment[],
  rejectedCase: Case,
  rejected: Withdrawal,
  workerKilled: boolean,
): DemoReport {
  const onChain = (id: string) =>
    payments.filter(({ signature }) =>
      results.find((result) => result.id === id)?.attempts.some((attempt) => attempt.signature === signature),
    );
  const rows = cases.map(({ what, terms }, index): DemoRow => {
    const mine = onChain(terms.id);
    const status = results[index]?.status ?? 'unknown';
    const received = mine.map((payment) => payment.received.toString()).join(' + ');
    return {
      what,
      status,
      sent: terms.amount,
      onChain: `${mine.length} x ${received}`,
      note: mine[0]?.signature ?? '',
    };
  });
  const requested = cases.length;
  const finalized = results.filter((result) => result.status === 'finalized').length;
  const transfersOnChain = payments.length;
  const everyOnce = cases.every(({ terms }, index) => paidExactly(terms, results[index], onChain(terms.id)));
  return {
    ok: everyOnce && transfersOnChain === requested && rejected.status === 'rejected' && workerKilled,
    withdrawals: { requested, finalized, transfersOnChain },
    rejected: rejected.reason,
    workerKilled,
    rows: [
      ...rows,
      {
        what: rejectedCase.what,
        status: rejected.status,
        sent: rejectedCase.terms.amount,
        onChain: '0',
        note: rejected.reason?.message ?? '',
      },
    ],
  };
}

function paidExactly(
  terms: WithdrawalTerms,
  result: Withdrawal | undefined,
  payments: readonly ChainPayment[],
): boolean {
  const [payment] = payments;
  if (payment === undefined || payments.length !== 1 || result?.status !== 'finalized') return false;
  const expected = result.amountReceived ?? terms.amount;
  return (
    payment.wallet === terms.destination &&
    payment.asset === terms.asset &&
    payment.received.toString() === expected
  );
}

function mintsOf(stack: Stack): { readonly mint: string; readonly feeMint: string } {
  const address = (name: string): string => {
    const mint = stack.chainInfo?.[name];
    if (typeof mint === 'object' && mint !== null && 'address' in mint) return String(mint.address);
    throw new Error(`the demo needs its own chain: unset SLUICE_RPC_URLS`);
  };
  return { mint: address('mint'), feeMint: address('feeMint') };
}

async function fundedWallet(stack: Stack): Promise<string> {
  const wallet = newWallet();
  const url = stack.rpcUrls[0] ?? '';
  await rpc(url, 'requestAirdrop', [wallet, FUNDED_LAMPORTS]);
  while ((await rpc<{ value: number }>(url, 'getBalance', [wallet, { commitment: 'finalized' }])).value === 0)
    await sleep(200);
  return wallet;
}

/** A fresh ed25519 public key; nobody needs its private half here. */
function newWallet(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  return base58.encode(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
}
