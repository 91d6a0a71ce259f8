import type { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import type { WarningBody } from '../schemas.ts';

/** Warns if the balance of a used wallet is below the rent-exempt minimum (docs/interface.md, Limits). */
export async function balanceWarnings(
  { ledger, chain = noChain }: ChainDeps,
  address: string,
): Promise<readonly z.output<typeof WarningBody>[]> {
  try {
    const { rows } = await ledger.deposits.list({ address, limit: 1 });
    const solana = await chain();
    const [minimum, { accounts }] = await Promise.all([solana.rentMinimum(0), solana.accounts([address])]);
    const lamports = accounts[0]?.lamports ?? 0n;
    if (lamports >= minimum || (lamports === 0n && rows.length === 0)) return [];
    const message = `${address} has ${lamports} lamports, less than the rent-exempt minimum of ${minimum} lamports`;
    return [{ code: 'balance_below_minimum', message }];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return [
      { code: 'balance_unknown', message: `the balance of ${address} cannot be read now: ${error.message}` },
    ];
  }
}
