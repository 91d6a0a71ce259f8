import { Keypair } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { mayHavePaid } from '../../src/solana/history/wallet-history.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';

const [hot, mint, destination, other] = Array.from({ length: 4 }, () =>
  Keypair.generate().publicKey.toBase58(),
);
if (!hot || !mint || !destination || !other) throw new Error('four addresses');
const parties = (...named: readonly string[]) => ({ addresses: [hot, ...named], hidesOwners: false });
const asked = { destination, asset: mint };

describe('a spend may have paid the withdrawal', () => {
  it('when it names the wallet', () => {
    expect(mayHavePaid(parties(destination), { destination, asset: 'SOL' })).toBe(true);
    expect(mayHavePaid(parties(other), { destination, asset: 'SOL' })).toBe(false);
  });

  it.each([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])('when it names only the token account under %s', (program) => {
    expect(mayHavePaid(parties(mint, deriveAta(destination, mint, program)), asked)).toBe(true);
    expect(mayHavePaid(parties(mint, deriveAta(other, mint, program)), asked)).toBe(false);
  });

  it('in any token when it hides token owners, and in SOL only when it names the wallet', () => {
    const hidden = { ...parties(other), hidesOwners: true };
    expect(mayHavePaid(hidden, asked)).toBe(true);
    expect(mayHavePaid(hidden, { destination, asset: 'SOL' })).toBe(false);
  });

  it('but not when the owner has no associated account', () => {
    const offCurve = deriveAta(destination, mint, TOKEN_PROGRAM);
    expect(mayHavePaid(parties(mint), { destination: offCurve, asset: mint })).toBe(false);
  });
});
