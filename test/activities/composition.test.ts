import { createInitializeTransferHookInstruction, ExtensionType } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Composer } from '../../src/activities/composition.ts';
import { describeFailure } from '../../src/activities/program-errors.ts';
import type { WithdrawalRow } from '../../src/ledger/withdrawals.ts';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { FeePlanner } from '../../src/solana/fees.ts';
import { TOKEN_2022_PROGRAM } from '../../src/solana/programs.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { composeTransfer } from '../../src/solana/transactions.ts';

const HOT = Keypair.generate().publicKey.toBase58();
const HOOK = Keypair.generate().publicKey;
const RULES = { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: { transferHook: 'allow' } } as const;
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let composer: Composer;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = new Chain(pool);
  const fees = new FeePlanner(chain, { floorMicroLamports: 1_000n, capMicroLamports: 1_000_000n });
  composer = new Composer({ chain, fees, rules: RULES });
});
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

/** A mint whose hook program is absent from the chain. */
async function hookedMint(): Promise<string> {
  const program = new PublicKey(TOKEN_2022_PROGRAM);
  const initialize = (mint: PublicKey) => createInitializeTransferHookInstruction(mint, HOOK, HOOK, program);
  const mint = await localnet.createToken22Mint({
    extensions: [{ type: ExtensionType.TransferHook, initialize }],
  });
  await localnet.mintTo(mint, HOT, 1_000_000n);
  return mint;
}

function row(asset: string, changes: Partial<WithdrawalRow> = {}): WithdrawalRow {
  return {
    id: 'composed',
    asset,
    amount: 1_000n,
    destination: Keypair.generate().publicKey.toBase58(),
    acceptEmptyWallet: true,
    memo: null,
    fingerprint: '',
    status: 'requested',
    reason: null,
    confirmedByCustomer: false,
    amountReceived: null,
    createdAt: new Date(),
    updatedAt: new Date(),
    ...changes,
  };
}

describe('composing a withdrawal', () => {
  it('rejects a transfer that a program of it would refuse, with what the chain says', async () => {
    const answer = await composer.compose(row(await hookedMint()), 1, 0n);
    expect(answer).toMatchObject({
      kind: 'rejected',
      reason: { code: 'would_fail', message: expect.stringContaining('InstructionError') },
    });
  });

  it('rejects a transfer too large for a packet', async () => {
    const answer = await composer.compose(row('SOL', { memo: 'm'.repeat(950) }), 1, 0n);
    expect(answer).toMatchObject({ kind: 'rejected', reason: { code: 'invalid_request' } });
  });

  it.each([
    ['an address that holds no mint', HOT],
    ['base58 text that is no address', '1'.repeat(44)],
  ])('rejects as an asset %s', async (_what, asset) => {
    const answer = await composer.compose(row(asset), 1, 0n);
    expect(answer).toMatchObject({ kind: 'rejected', reason: { code: 'asset_rejected' } });
  });

  it('waits, and does not reject, where the hot wallet only lacks the money', async () => {
    const { address } = localnet.mint;
    const answer = await composer.compose(row(address, { amount: 2n ** 60n }), 1, 0n);
    expect(answer.kind).toBe('composed');
    const native = await composer.compose(row('SOL', { amount: 2n ** 60n }), 1, 0n);
    expect(native.kind).toBe('awaiting_funds');
  });
});

describe('an error of the chain', () => {
  const { message } = composeTransfer({
    asset: 'SOL',
    amount: 1n,
    source: HOT,
    destination: HOOK.toBase58(),
    memo: null,
    token: null,
    computeUnitLimit: 1,
    computeUnitPriceMicroLamports: 1n,
    blockhash: HOT,
  });

  it.each([
    ['{"InstructionError":[2,{"Custom":1}]}', 'instruction 3 (System program) failed: insufficient funds'],
    ['{"InstructionError":[2,{"Custom":77}]}', 'its error 77'],
    ['{"InstructionError":[0,"InvalidAccountData"]}', 'instruction 1 (compute budget program) failed'],
    ['AccountNotFound', 'the transaction failed: AccountNotFound'],
  ])('%s is told in words', (error, sentence) => {
    expect(describeFailure(error, message)).toContain(sentence);
  });
});
