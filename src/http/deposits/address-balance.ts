import type { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';
import type { WarningBody } from '../schemas.ts';

/** Warns if a used wallet is below the minimum account balance. Source: docs/interface.md, Limits. */
export async function balanceWarnings(
  { ledger, chain = noChain }: ChainDeps,
  address: string,
): Promise<readonly z.output<typeof WarningBody>[]> {
  try {
    const { rows } = await ledger.deposits.list({ address, limit: 1 });
    const opened = await chain();
    const [minimum, { accounts }] = await Promise.all([opened.rentMinimum(0), opened.accounts([address])]);
    const lamports = accounts[0]?.lamports ?? 0n;
    if (lamports >= minimum || (lamports === 0n && rows.length === 0)) return [];
    const message = `it holds ${lamports} lamports, less than the ${minimum} that the chain requires for an account`;
    return [{ code: 'balance_below_minimum', message }];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return [{ code: 'balance_unknown', message: `its balance cannot be read now: ${error.message}` }];
  }
}
