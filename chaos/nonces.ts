import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ChainPayment } from '../devkit/localstack/chain-truth.ts';
import { nodeProgram } from '../devkit/localstack/program.ts';
import type { Stack } from '../devkit/localstack/stack.ts';

const run = promisify(execFile);

/** Creates `count` durable nonce accounts, as an operator does before the first payment, and returns their addresses. */
export async function makeNonces(stack: Stack, count: number): Promise<readonly string[]> {
  if (count === 0) return [];
  const { command, args } = nodeProgram(new URL('../src/cli.ts', import.meta.url), [
    'nonces',
    'create',
    '--count',
    String(count),
    '-o',
    'json',
  ]);
  const { stdout } = await run(command, args, {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: stack.databaseUrl,
      SLUICE_HOT_WALLET: stack.hotWallet,
      TEMPORAL_ADDRESS: stack.temporal.address,
      TEMPORAL_NAMESPACE: stack.temporal.namespace,
    },
  });
  const { created } = JSON.parse(stdout) as { readonly created: readonly string[] };
  return created;
}

/** The payments without those that made nonce accounts, and what is wrong with these: each is made by one transaction. */
export function apartFrom(
  nonces: readonly string[],
  payments: readonly ChainPayment[],
): { readonly payments: readonly ChainPayment[]; readonly wrong: readonly string[] } {
  const madeBy = (address: string) => payments.filter(({ wallet }) => wallet === address).length;
  return {
    payments: payments.filter(({ wallet }) => !nonces.includes(wallet)),
    wrong: nonces.flatMap((address) =>
      madeBy(address) === 1 ? [] : [`nonce account ${address} was made ${madeBy(address)} times`],
    ),
  };
}
