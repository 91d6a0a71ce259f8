import { base64 } from '@scure/base';
import {
  createCloseAccountInstruction,
  createEnableRequiredMemoTransfersInstruction,
  createReallocateInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey, type TransactionInstruction } from '@solana/web3.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newWallet, submitSigned, type Wallet } from '../../devkit/localnet/wallet.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import { MEMO_PROGRAM } from '../../src/solana/tx/programs.ts';
import {
  type CompositionFixture,
  FIRST_ATTEMPT,
  openCompositionFixture,
  withdrawalRow,
} from './composition-fixture.ts';

let fixture: CompositionFixture;
let receiver: Wallet;

beforeAll(async () => {
  fixture = await openCompositionFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  receiver = newWallet();
  await fixture.localnet.airdrop(receiver.address, 1_000_000_000n);
});

/** The receiver's own transaction is in the newest confirmed block, and no finalized one. */
function confirmed(...instructions: TransactionInstruction[]): void {
  const { controls } = fixture.localnet;
  submitSigned(controls.chain, instructions, [receiver]);
  controls.produceSlots(2);
}

/** An account of the receiver for the mint, which holds nothing. */
async function opened(mint: string, program = TOKEN_PROGRAM_ID): Promise<PublicKey> {
  await fixture.localnet.mintTo(mint, receiver.address, 0n);
  return new PublicKey(deriveAta(receiver.address, mint, program.toBase58()));
}

const pay = (mint: string) =>
  fixture.composer().compose(withdrawalRow(mint, { destination: receiver.address }), FIRST_ATTEMPT);

describe('a token account of the receiver that the newest confirmed block changes', () => {
  it.each([
    ['Token', () => fixture.localnet.mint.address, TOKEN_PROGRAM_ID],
    ['Token-2022', () => fixture.localnet.feeMint.address, TOKEN_2022_PROGRAM_ID],
  ])(
    'delays the payment when the receiver closed it, and the payment creates it again: %s',
    async (_, mintOf, program) => {
      const mint = mintOf();
      const account = await opened(mint, program);
      const owner = receiver.publicKey;
      confirmed(createCloseAccountInstruction(account, owner, owner, [], program));
      await expect(pay(mint)).rejects.toMatchObject({
        code: 'NodeFault',
        message: expect.stringContaining('(token program) failed'),
      });
      fixture.localnet.controls.produceSlots(4);
      const composed = await pay(mint);
      if (composed.kind !== 'composed') throw new Error(composed.reason.message);
      expect(composed.attempt.rentLamports).toBeGreaterThan(0n);
    },
  );

  it('delays the payment when the receiver began to require a memo, and the payment then carries one', async () => {
    const mint = await fixture.localnet.createToken22Mint();
    await fixture.localnet.mintTo(mint, fixture.hotWallet, 1_000_000n);
    const account = await opened(mint, TOKEN_2022_PROGRAM_ID);
    const owner = receiver.publicKey;
    const memo = [ExtensionType.MemoTransfer];
    confirmed(
      createReallocateInstruction(account, owner, memo, owner, [], TOKEN_2022_PROGRAM_ID),
      createEnableRequiredMemoTransfersInstruction(account, owner, [], TOKEN_2022_PROGRAM_ID),
    );
    await expect(pay(mint)).rejects.toMatchObject({ code: 'NodeFault' });
    fixture.localnet.controls.produceSlots(4);
    const composed = await pay(mint);
    if (composed.kind !== 'composed') throw new Error(composed.reason.message);
    const { instructions } = decodeMessage(base64.decode(composed.attempt.message));
    expect(instructions.map(({ program }) => program)).toContain(MEMO_PROGRAM);
  });
});

describe('the compute limit of an attempt that follows a failed one', () => {
  it('is measured again, ignores the cached value, and covers what the attempt uses', async () => {
    const mint = fixture.localnet.mint.address;
    const composer = fixture.composer();
    const limitOf = async (minUnits?: number) => {
      const row = withdrawalRow(mint, { destination: receiver.address });
      const composed = await composer.compose(row, {
        ...FIRST_ATTEMPT,
        ...(minUnits === undefined ? {} : { minUnits }),
      });
      if (composed.kind !== 'composed') throw new Error(composed.reason.message);
      return composed.attempt.computeUnitLimit;
    };
    const first = await limitOf();
    fixture.localnet.controls.setFault(0, 'simulateTransaction', { kind: 'http', status: 503 });
    expect(await limitOf()).toBe(first);
    await expect(limitOf(0)).rejects.toThrow();
    fixture.localnet.controls.clearFaults();
    expect(await limitOf(0)).toBe(first);
    expect(await limitOf(2 * first)).toBe(2 * first);
  });
});
