import { Keypair } from '@solana/web3.js';
import { beforeAll, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { AttemptRow } from '../../src/ledger/settlements/attempts.ts';
import { prepareNext } from '../../src/settlement/prepare.ts';
import { type MessageVerdict, SameMessage } from '../../src/settlement/same-message.ts';
import { deathEvidence } from '../domain/evidence.ts';
import { useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { blockCalls, recordCalls } from '../solana/rpc-calls.ts';
import { activityEnvironment } from '../support/activity.ts';
import { buyerTransaction, type Orders, purchases, requestPurchase } from './purchase.ts';

const BUYERS = 6;
/** Proofs under way, and proofs that wait. */
const PLACES = 4 + 64;
const use = useLedger();
const orders: Orders = new Map();
const fixture = useLandingFixture();
let sameMessage: SameMessage;
let attempts: readonly AttemptRow[];

/** An attempt of a buyer who pays the fee, adopted and never sent. */
async function unsent(): Promise<AttemptRow> {
  const buyer = Keypair.generate();
  await fixture.localnet.airdrop(buyer.publicKey.toBase58(), 1_000_000_000n);
  const acceptedAt = BigInt(fixture.localnet.controls.chain.ledger.tip.slot);
  const seller = newAddress();
  const order = { wire: await buyerTransaction(fixture, buyer, seller, null), acceptedAt };
  const id = await requestPurchase(use.ledger, orders, seller, order);
  const settlement = await use.ledger.settlements.get(id);
  const kind = purchases(fixture, orders, {});
  const shown = { status: 'requested', code: null } as const;
  const prepare = (): Promise<unknown> => prepareNext({ ledger: use.ledger, kind }, settlement, shown);
  await activityEnvironment().run(prepare);
  return use.ledger.attempts.get(id, 1);
}

beforeAll(async () => {
  sameMessage = new SameMessage(use.ledger, fixture.chain);
  fixture.localnet.controls.produceSlots(160);
  attempts = await Promise.all(Array.from({ length: BUYERS }, unsent));
  fixture.localnet.controls.produceSlots(170);
});

async function blocksRead(work: () => Promise<unknown>): Promise<number> {
  const asked: string[] = [];
  const stop = recordCalls(fixture.pool, asked);
  await work();
  stop();
  return asked.filter((method) => method === 'getBlock').length;
}

it('proofs for payments of many wallets in the same minutes read the blocks once', async () => {
  const [first, ...others] = attempts;
  if (first === undefined) throw new Error('there are some');
  const proofs: unknown[] = [];
  const prove = async (attempt: AttemptRow) => proofs.push(await sameMessage.judge(attempt, deathEvidence()));
  const forOne = await blocksRead(() => prove(first));
  const forOthers = await blocksRead(() => Promise.all(others.map(prove)));
  expect(proofs).toEqual(attempts.map(() => ({ unproved: null, proof: expect.anything() })));
  expect(forOne).toBeGreaterThan(300);
  // For each the ends of its range, and the blocks of a funding that differ from one to the next.
  expect(forOthers).toBeLessThan(forOne / 2);
});

it('the judge postpones proofs that would make the queue grow without bound', async () => {
  const [attempt] = attempts;
  if (attempt === undefined) throw new Error('there are some');
  const release = blockCalls(fixture.pool);
  const putOff: MessageVerdict[] = [];
  const verdicts = Array.from({ length: PLACES + 2 }, () => sameMessage.judge(attempt, deathEvidence()));
  for (const verdict of verdicts) void verdict.then((one) => putOff.push(one));
  // No proof can end before a node answers.
  await expect.poll(() => putOff.length, { timeout: 10_000 }).toBe(2);
  for (const { unproved } of putOff) expect(unproved).toContain('tries again later');
  release();
  expect((await Promise.all(verdicts)).filter(({ unproved }) => unproved === null)).toHaveLength(PLACES);
});
