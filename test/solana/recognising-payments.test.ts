import { Keypair } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { mayHavePaid } from '../../src/solana/history/wallet-history.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';

const [hot, mint, destination, other] = Array.from({ length: 4 }, () =>
  Keypair.generate().publicKey.toBase58(),
);
if (!hot || !mint || !destination || !other) throw new Error('four addresses');
const parties = (...all: readonly string[]) => ({ all: [hot, ...all], hidesOwners: false });
const asked = { destination, asset: mint };

describe('a spend may have paid a withdrawal', () => {
  it('whose wallet it names', () => {
    expect(mayHavePaid(parties(destination), { destination, asset: 'SOL' })).toBe(true);
    expect(mayHavePaid(parties(other), { destination, asset: 'SOL' })).toBe(false);
  });

  it.each([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])(
    'whose token account under %s is all that it names',
    (program) => {
      expect(mayHavePaid(parties(mint, deriveAta(destination, mint, program)), asked)).toBe(true);
      expect(mayHavePaid(parties(mint, deriveAta(other, mint, program)), asked)).toBe(false);
    },
  );

  it('of any token where it hides the owners of tokens, and of SOL only to whom it names', () => {
    const hidden = { ...parties(other), hidesOwners: true };
    expect(mayHavePaid(hidden, asked)).toBe(true);
    expect(mayHavePaid(hidden, { destination, asset: 'SOL' })).toBe(false);
  });

  it('but not one to an owner that has no associated account', () => {
    const offCurve = deriveAta(destination, mint, TOKEN_PROGRAM);
    expect(mayHavePaid(parties(mint), { destination: offCurve, asset: mint })).toBe(false);
  });
});
