import { accountAt } from './accounts-of.ts';
import type { Parsed } from './instructions.ts';

/** Associated-token-account instructions. */
export function parseAta(accounts: readonly string[], data: Uint8Array): Parsed | null {
  const kind = data[0] ?? 0;
  const at = (index: number): string => accountAt(accounts, index);
  if (kind > 1) return null;
  return {
    type: kind === 0 ? 'create' : 'createIdempotent',
    info: {
      account: at(1),
      mint: at(3),
      source: at(0),
      systemProgram: at(4),
      tokenProgram: at(5),
      wallet: at(2),
    },
  };
}
