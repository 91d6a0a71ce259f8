import {
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeMint2Instruction,
  createInitializeTransferFeeConfigInstruction,
  createMintToInstruction,
  createTransferCheckedInstruction,
  ExtensionType,
  getAccount,
  getAssociatedTokenAddressSync,
  getMintLen,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  PublicKey as Key,
  Keypair,
  type PublicKey,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';

const MEMO = new Key('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const NAMES = [
  ['spl-token', TOKEN_PROGRAM_ID],
  ['spl-token-2022', TOKEN_2022_PROGRAM_ID],
] as const;

interface FundedToken {
  readonly mint: PublicKey;
  readonly source: PublicKey;
}

async function createToken(chain: Harness, program: PublicKey): Promise<FundedToken> {
  const mint = Keypair.generate();
  const payer = chain.payer.publicKey;
  const withFee = program.equals(TOKEN_2022_PROGRAM_ID);
  const space = getMintLen(withFee ? [ExtensionType.TransferFeeConfig] : []);
  const source = getAssociatedTokenAddressSync(mint.publicKey, payer, false, program);
  await chain.land(
    [
      SystemProgram.createAccount({
        fromPubkey: payer,
        newAccountPubkey: mint.publicKey,
        lamports: await chain.connection.getMinimumBalanceForRentExemption(space),
        space,
        programId: program,
      }),
      ...(withFee
        ? [
            createInitializeTransferFeeConfigInstruction(
              mint.publicKey,
              payer,
              payer,
              100,
              1_000_000n,
              program,
            ),
          ]
        : []),
      createInitializeMint2Instruction(mint.publicKey, 6, payer, null, program),
      createAssociatedTokenAccountIdempotentInstruction(payer, source, payer, mint.publicKey, program),
      createMintToInstruction(mint.publicKey, source, payer, 5_000_000n, [], program),
    ],
    [mint],
  );
  return { mint: mint.publicKey, source };
}

/** Transfers of both token programs, with the accounts that they make. */
export function tokenSubjects(chain: () => Harness): void {
  describe.each(NAMES)('%s', (name, program) => {
    it('transfers into a new token account, and a node returns it', async () => {
      const { mint, source } = await createToken(chain(), program);
      const payer = chain().payer.publicKey;
      const owner = Keypair.generate().publicKey;
      const target = getAssociatedTokenAddressSync(mint, owner, false, program);
      const instructions = [
        createAssociatedTokenAccountIdempotentInstruction(payer, target, owner, mint, program),
        createTransferCheckedInstruction(source, mint, target, payer, 1_000_000n, 6, [], program),
        new TransactionInstruction({ programId: MEMO, keys: [], data: Buffer.from('order 7') }),
      ];
      const simulated = await chain().sign(instructions);
      await chain().expectShape(`${name}-simulation`, 'simulateTransaction', [
        simulated.raw,
        { encoding: 'base64', commitment: 'confirmed', innerInstructions: true },
      ]);
      const signature = await chain().land(instructions);
      const fee = program.equals(TOKEN_2022_PROGRAM_ID) ? 10_000n : 0n;
      const account = await getAccount(chain().connection, target, 'confirmed', program);
      expect(account.amount).toBe(1_000_000n - fee);
      const config = { commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
      for (const encoding of ['json', 'jsonParsed']) {
        await chain().expectShape(`${name}-transaction-${encoding}`, 'getTransaction', [
          signature,
          { ...config, encoding },
        ]);
      }
      const parsed = { encoding: 'jsonParsed', commitment: 'confirmed' };
      await chain().expectShape(`${name}-mint`, 'getAccountInfo', [mint.toBase58(), parsed]);
      await chain().expectShape(`${name}-account`, 'getAccountInfo', [target.toBase58(), parsed]);
      const held = await chain().expectShape(`${name}-by-owner`, 'getTokenAccountsByOwner', [
        owner.toBase58(),
        { programId: program.toBase58() },
        parsed,
      ]);
      const ofMint = await chain().result('getTokenAccountsByOwner', [
        owner.toBase58(),
        { mint: mint.toBase58() },
        parsed,
      ]);
      expect(ofMint).toMatchObject({ value: (held as { value: unknown[] }).value });
      const other = { mint: 'So11111111111111111111111111111111111111112' };
      expect(
        await chain().result('getTokenAccountsByOwner', [owner.toBase58(), other, parsed]),
      ).toMatchObject({ value: [] });
      await chain().expectShape(`${name}-balance`, 'getTokenAccountBalance', [
        target.toBase58(),
        { commitment: 'confirmed' },
      ]);
    });
  });
}
