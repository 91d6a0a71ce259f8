import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { Keypair, PublicKey } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WatchKind } from '../../../src/domain/deposit.ts';
import type { AccountInfo } from '../../../src/solana/rpc/schemas.ts';
import { classifyDestination } from '../../../src/solana/tokens/addresses.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';

const account = (changes: Partial<AccountInfo> = {}): AccountInfo => ({
  lamports: 1_000_000n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(),
  executable: false,
  ...changes,
});
const codeOf = (address: string, held: AccountInfo | null = null, own?: WatchKind): string => {
  const result = classifyDestination(address, held, { own });
  return result.kind === 'rejected' ? result.reason.code : result.kind;
};
const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((seed) => Keypair.fromSeed(seed).publicKey.toBase58());
const WALLET = Keypair.fromSeed(new Uint8Array(32).fill(5)).publicKey.toBase58();
const MINT = Keypair.fromSeed(new Uint8Array(32).fill(6)).publicKey.toBase58();

describe('the address check', () => {
  it('accepts every wallet that a key can sign for', () => {
    fc.assert(
      fc.property(key, (address) => {
        expect(codeOf(address)).toBe('empty');
        expect(codeOf(address, account())).toBe('wallet');
        expect(codeOf(address, account({ lamports: 0n }))).toBe('empty');
        expect(codeOf(address, account(), 'hot')).toBe('own_address');
        expect(codeOf(address, null, 'deposit')).toBe('deposit_address');
      }),
      { numRuns: 50 },
    );
  });

  it('never throws, and accepts only 32 bytes of base58', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.uint8Array({ maxLength: 64 }).map((bytes) => base58.encode(bytes)),
        ),
        (text) => {
          const code = codeOf(text);
          const bytes = /^[1-9A-HJ-NP-Za-km-z]+$/.test(text) ? base58.decode(text).length : 0;
          if (bytes !== 32) expect(['not_base58', 'wrong_length']).toContain(code);
        },
      ),
    );
  });

  it('rejects the eight points of small order', () => {
    const torsion = ed25519.Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');
    let point = torsion;
    for (let order = 1; order <= 8; order += 1) {
      expect(codeOf(base58.encode(point.toBytes()), account())).toBe('small_order');
      point = point.add(torsion);
    }
  });

  it('rejects an address off the curve, as a program address if it is in use', () => {
    const [pda] = PublicKey.findProgramAddressSync([Buffer.from('x')], new PublicKey(TOKEN_PROGRAM));
    expect(codeOf(pda.toBase58())).toBe('off_curve');
    expect(codeOf(pda.toBase58(), account())).toBe('pda');
    expect(codeOf(deriveAta(WALLET, MINT, TOKEN_PROGRAM))).toBe('off_curve');
  });

  it('accepts a vault off the curve only if it holds SOL and the setting allows vaults', () => {
    const [pda] = PublicKey.findProgramAddressSync([Buffer.from('x')], new PublicKey(TOKEN_PROGRAM));
    const kindOf = (held: AccountInfo | null): string =>
      classifyDestination(pda.toBase58(), held, { allowVaults: true }).kind;
    expect(kindOf(account())).toBe('vault');
    expect(kindOf(null)).toBe('rejected');
    for (const changes of [{ lamports: 0n }, { data: new Uint8Array(1) }, { owner: WALLET }])
      expect(kindOf(account(changes))).toBe('rejected');
  });

  it.each([
    ['mint', { owner: TOKEN_PROGRAM, data: new Uint8Array(82) }],
    ['token_account', { owner: TOKEN_PROGRAM, data: new Uint8Array(165) }],
    ['mint', { owner: TOKEN_2022_PROGRAM, data: new Uint8Array(300).fill(1, 165, 166) }],
    ['token_account', { owner: TOKEN_2022_PROGRAM, data: new Uint8Array(170).fill(2, 165, 166) }],
    ['program', { owner: 'BPFLoaderUpgradeab1e11111111111111111111111', executable: true }],
    ['program', { owner: 'BPFLoaderUpgradeab1e11111111111111111111111' }],
    ['not_system_owned', { owner: WALLET }],
    ['has_data', { data: new Uint8Array(80) }],
  ])('rejects an address in use as %s', (code, changes) => {
    expect(codeOf(MINT, account(changes))).toBe(code);
  });
});
