import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { AttemptVerdict } from '../../src/domain/attempt.ts';
import { isDomainError } from '../../src/domain/errors.ts';
import { adoptedLifetime } from '../../src/solana/proof/adopted.ts';
import { examine, findDue } from '../../src/solana/proof/examine.ts';
import type { SignedAttempt } from '../../src/solana/proof/investigate.ts';
import { blockCache } from '../../src/solana/proof/linked-blocks.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { quickChain } from '../support/quick-chain.ts';
import { type BlockAnswer, type FalseResult, falseHash, startLiar } from './lying-node.ts';
import type { ScriptedNode } from './rpc-scripted-node.ts';

const LIFE = 150n;
let localnet: Localnet;
let honest: NodePool;
let liar: ScriptedNode;
let lie: FalseResult = () => undefined;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 4 });
  localnet.controls.produceSlots(200);
  honest = await openNodePool(localnet.rpcUrls);
  liar = await startLiar(localnet.rpcUrls[3] ?? '', () => lie);
});
afterAll(async () => {
  await honest.close();
  await liar.close();
  await localnet.close();
});

const truth = fc.constant(undefined);
const number = fc.oneof(fc.integer({ min: -400, max: 400 }), fc.constantFrom(-(10 ** 6), 10 ** 9));
const transactionError = fc.constantFrom(null, { InstructionError: [0, { Custom: 1 }] });
const status = fc.record({
  slot: fc.integer({ min: 1, max: 5_000 }),
  confirmations: fc.constant(null),
  err: transactionError,
  confirmationStatus: fc.constantFrom('processed', 'confirmed', 'finalized'),
});

/** The false answer of a liar, by method. */
const lies = fc.record({
  ahead: fc.oneof(truth, number),
  higher: fc.oneof(truth, number),
  blockHigher: fc.oneof(truth, number),
  hash: fc.oneof(truth, fc.constant(falseHash(7))),
  parentSlot: fc.oneof(truth, number),
  signatures: fc.oneof(truth, fc.constant([])),
  slots: fc.oneof(truth, fc.constantFrom('none', 'newest')),
  status: fc.oneof(truth, fc.constant(null), status),
  outcome: fc.oneof(
    truth,
    fc.constant(null),
    fc.record({ slot: fc.integer({ min: 1, max: 5_000 }), err: transactionError }),
  ),
});
type DrawnLies = typeof lies extends fc.Arbitrary<infer T> ? T : never;

function lieOf(falseAnswers: DrawnLies): FalseResult {
  return ({ method }, said) => {
    if (method === 'getSlot' && falseAnswers.ahead !== undefined)
      return Math.max(0, Number(said) + falseAnswers.ahead);
    if (method === 'getBlockHeight' && falseAnswers.higher !== undefined)
      return Math.max(0, Number(said) + falseAnswers.higher);
    if (method === 'getBlock' && said !== null) return blockOf(falseAnswers, said as BlockAnswer);
    if (method === 'getBlocksWithLimit' && falseAnswers.slots !== undefined)
      return falseAnswers.slots === 'none' ? [] : [localnet.controls.chain.ledger.below(4).slot];
    if (method === 'getSignatureStatuses' && falseAnswers.status !== undefined)
      return {
        context: { slot: localnet.controls.chain.ledger.tip.slot },
        value: (said as { value: unknown[] }).value.map(() => falseAnswers.status),
      };
    if (method === 'getTransaction' && falseAnswers.outcome !== undefined)
      return (
        falseAnswers.outcome && {
          slot: falseAnswers.outcome.slot,
          meta: { err: falseAnswers.outcome.err, fee: 5_000 },
        }
      );
    return undefined;
  };
}

function blockOf(
  { blockHigher = 0, hash, parentSlot = 0, signatures }: DrawnLies,
  block: BlockAnswer,
): BlockAnswer {
  return {
    ...block,
    blockhash: hash ?? block.blockhash,
    blockHeight: Math.max(0, block.blockHeight + blockHigher),
    parentSlot: Math.max(0, block.parentSlot + parentSlot),
    ...(signatures === undefined ? {} : { signatures }),
  };
}

/** An attempt, sent or not, with the lifetime that a liar reported. */
async function begin(isSent: boolean, lower: number): Promise<SignedAttempt> {
  const { slot, height, blockhash, lastValidBlockHeight } = await quickChain(honest).latestBlockhash();
  const unsent = base58.encode(Keypair.generate().secretKey);
  const to = Keypair.generate().publicKey.toBase58();
  const signature = isSent ? await localnet.airdrop(to, 1_000_000n) : unsent;
  const shift = BigInt(lower);
  const [reportedHeight, last] = [height - shift, lastValidBlockHeight - shift].map((claim) =>
    claim < 0n ? 0n : claim,
  );
  return {
    signature,
    blockhash,
    blockhashSlot: slot,
    blockhashHeight: reportedHeight ?? 0n,
    lastValidBlockHeight: last ?? 0n,
    adoptedFrom: null,
  };
}

/** The message of a buyer, sent or not, whose lifetime comes from a pool with a liar; null if the pool returns none. */
async function adopt(pool: NodePool, isSent: boolean, isWhole: boolean): Promise<SignedAttempt | null> {
  const { slot: acceptedAt, blockhash } = await quickChain(honest).latestBlockhash();
  const send = async () =>
    isSent
      ? localnet.airdrop(Keypair.generate().publicKey.toBase58(), 1_000_000n)
      : base58.encode(Keypair.generate().secretKey);
  try {
    // A message that needs a Sluice signature is adopted before it is sent; one that its buyer signed alone may be final by then.
    const sent = isWhole ? await send() : null;
    if (isWhole) localnet.controls.produceSlots(8);
    const life = await adoptedLifetime(pool, isWhole ? acceptedAt : null);
    return { signature: sent ?? (await send()), blockhash, ...life };
  } catch (error) {
    if (isDomainError(error, 'NoHealthyNode')) return null;
    throw error;
  }
}

/** Lets an honest node forget where the transaction landed, or that it ever knew it. */
function falter(beside: string, signature: string): void {
  const { controls } = localnet;
  const at = controls.chain.ledger.record(signature)?.slot ?? 1;
  if (beside === 'hole') controls.setFault(0, '*', { kind: 'hole', from: at, to: at });
  const { slot } = controls.chain.ledger.tip;
  const result = { context: { slot }, value: [null] };
  if (beside === 'false null') controls.setFault(0, 'getSignatureStatuses', { kind: 'result', result });
}

async function look(pool: NodePool, attempt: SignedAttempt) {
  const chain = quickChain(pool);
  const [found] = await examine(chain, await findDue(chain, [attempt]), blockCache());
  return found;
}

const cases = fc.record({
  lies,
  lower: fc.constantFrom(0, 0, 145, 400, -400, -(10 ** 12)),
  isSent: fc.boolean(),
  blocks: fc.constantFrom(6, 12, 148, 170),
  others: fc.integer({ min: 1, max: 3 }),
  /** What an honest node does wrong at the same time. */
  beside: fc.constantFrom('nothing', 'nothing', 'false null', 'hole'),
});
const HONEST: DrawnLies = {
  ahead: undefined,
  higher: undefined,
  blockHigher: undefined,
  hash: undefined,
  parentSlot: undefined,
  signatures: undefined,
  slots: undefined,
  status: undefined,
  outcome: undefined,
};

const ALIVE: AttemptVerdict = { kind: 'alive', seen: null };

/** The chain does not contradict the verdict on what carries the blockhash of the block at this height. */
function expectTrue(verdict: AttemptVerdict, signature: string, height: bigint): void {
  const { ledger } = localnet.controls.chain;
  const isOver = BigInt(ledger.below(4).height) > height + LIFE;
  const landing = ledger.record(signature);
  if (verdict.kind === 'dead') expect({ isOver, landing }).toEqual({ isOver: true, landing: undefined });
  if (verdict.kind === 'landed') expect(verdict).toMatchObject({ slot: BigInt(landing?.slot ?? -1) });
  expect(verdict.kind).not.toBe('failed');
}

it('one lying node in a pool of two to four, beside a node with a hole or a false null, causes no verdict that the chain contradicts', async () => {
  const reached = new Set<string>();
  const check = fc.asyncProperty(
    cases,
    async ({ lies: drawnLies, lower, isSent, blocks, others, beside }) => {
      lie = () => undefined;
      localnet.controls.clearFaults();
      const attempt = await begin(isSent, lower);
      const origin = localnet.controls.chain.ledger.bySlot(Number(attempt.blockhashSlot));
      localnet.controls.produceSlots(blocks);
      falter(beside, attempt.signature);
      lie = lieOf(drawnLies);
      const pool = await openNodePool([liar.url, ...localnet.rpcUrls.slice(0, others)]);
      const found = await look(pool, attempt);
      await pool.close();
      const verdict = found?.verdict ?? ALIVE;
      reached.add(verdict.kind);
      expectTrue(verdict, attempt.signature, BigInt(origin?.height ?? 0));
    },
  );
  const old = { lies: HONEST, lower: 145, blocks: 170, others: 2, isSent: false, beside: 'nothing' };
  const hidden = { ...old, lower: 0, isSent: true, lies: { ...HONEST, signatures: [], status: null } };
  const examples = [
    old,
    { ...old, isSent: true },
    { ...old, blocks: 6 },
    { ...old, lies: { ...HONEST, hash: falseHash(7) }, others: 1 },
    { ...hidden, others: 1, beside: 'false null' },
    { ...hidden, others: 1, beside: 'hole' },
    { ...hidden, others: 2, beside: 'false null' },
  ].map((example): [typeof example] => [example]);
  await fc.assert(check, { numRuns: 40, examples });
  expect(reached).toEqual(new Set(['alive', 'unknown', 'landed', 'dead']));
}, 120_000);

it('one lying node causes no false verdict on the message of a buyer whose lifetime that pool reported', async () => {
  const reached = new Set<string>();
  const check = fc.asyncProperty(
    cases,
    fc.boolean(),
    async ({ lies: drawnLies, isSent, blocks, others, beside }, isWhole) => {
      localnet.controls.clearFaults();
      const height = BigInt(localnet.controls.chain.ledger.tip.height);
      const pool = await openNodePool([liar.url, ...localnet.rpcUrls.slice(0, others)]);
      try {
        lie = lieOf(drawnLies);
        const attempt = await adopt(pool, isSent, isWhole);
        if (attempt === null) return void reached.add('not adopted');
        localnet.controls.produceSlots(blocks);
        falter(beside, attempt.signature);
        const verdict = (await look(pool, attempt))?.verdict ?? ALIVE;
        reached.add(verdict.kind);
        expectTrue(verdict, attempt.signature, height);
      } finally {
        await pool.close();
      }
    },
  );
  const old = { lies: HONEST, lower: 0, blocks: 170, others: 2, isSent: false, beside: 'nothing' };
  const examples: [typeof old, boolean][] = [
    [old, true],
    [old, false],
    [{ ...old, blocks: 148 }, false],
    [{ ...old, isSent: true }, true],
    [{ ...old, isSent: true, lies: { ...HONEST, signatures: [], status: null } }, false],
    [{ ...old, isSent: true, lies: { ...HONEST, status: null }, others: 1, beside: 'false null' }, true],
    [{ ...old, lies: { ...HONEST, higher: 400 } }, false],
  ];
  await fc.assert(check, { numRuns: 40, examples });
  // The methods that the examples use: the lies about the others are random.
  expect([...reached]).toEqual(expect.arrayContaining(['not adopted', 'alive', 'landed', 'dead']));
}, 120_000);
