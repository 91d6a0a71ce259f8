import { createBurnInstruction, createCloseAccountInstruction, TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { deriveAta } from '../../src/solana/ata.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { ChainHand, query, reaches } from './outcomes-support.ts';

let running: TestStack;
let hand: ChainHand;

beforeAll(async () => {
  running = await testStack();
  hand = new ChainHand(running.stack);
});
afterEach(() => hand?.heal());
afterAll(() => running?.close());

it('a token account that its owner closes before the payment lands fails the withdrawal for good, and frees the money', async () => {
  const { stack, sluice } = running;
  const asset = hand.mint('mint');
  const owner = Keypair.generate();
  const destination = owner.publicKey.toBase58();
  await hand.airdrop(destination, 1_000_000_000);
  await sluice.withdraw({ id: 'opens', asset, amount: '5000000', destination });
  expect(await sluice.waitForFinal('opens')).toMatchObject({ status: 'finalized' });

  await hand.swallowSends();
  await sluice.withdraw({ id: 'closed', asset, amount: '7000000', destination });
  const { attempts } = await reaches(sluice, 'closed', 'sending');
  expect(attempts).toMatchObject([{ rentLamports: '0' }]);
  const mint = new PublicKey(asset);
  const account = new PublicKey(deriveAta(destination, asset, TOKEN_PROGRAM_ID.toBase58()));
  await hand.healAndSend(owner, [
    createBurnInstruction(account, mint, owner.publicKey, 5_000_000n),
    createCloseAccountInstruction(account, owner.publicKey, owner.publicKey),
  ]);

  const failed = await sluice.waitForFinal('closed');
  expect(failed).toMatchObject({
    status: 'failed',
    reason: { code: 'failed_on_chain', message: expect.stringContaining('(token program) failed:') },
    attempts: [{ n: 1, state: 'failed', signature: attempts[0]?.signature }],
  });
  const open = await query(stack, `select 1 from reservation where state = 'open'`);
  expect(open).toEqual([]);
  expect(await hand.paymentsTo(destination)).toMatchObject([{ asset, received: 5_000_000n }]);
}, 120_000);
