import { base58 } from '@scure/base';
import {
  Keypair,
  NonceAccount,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { Chain } from '../../src/solana/chain.ts';
import {
  advanceNonce,
  NONCE_ACCOUNT_SIZE,
  nonceAddress,
  nonceSeed,
} from '../../src/solana/nonces/account.ts';
import { findDue } from '../../src/solana/proof/examine.ts';
import {
  askNonces,
  investigateNonces,
  type SignedNonceAttempt,
} from '../../src/solana/proof/investigate-nonce.ts';
import { judgeNonceAttempt } from '../../src/solana/proof/judge-nonce.ts';
import { blockCache } from '../../src/solana/proof/linked-blocks.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { quickChain } from '../support/quick-chain.ts';

const KEY = Keypair.generate();
const HOT = KEY.publicKey.toBase58();
const ADDRESS = nonceAddress(HOT, nonceSeed(1));

let localnet: Localnet;
let pool: NodePool;
let chain: Chain;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls.slice(0, 2));
  chain = quickChain(pool);
  await create();
});
afterEach(() => localnet.controls.clearFaults());
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
});

async function create(): Promise<void> {
  const lamports = await chain.rentMinimum(NONCE_ACCOUNT_SIZE);
  const { instructions } = SystemProgram.createNonceAccount({
    fromPubkey: KEY.publicKey,
    basePubkey: KEY.publicKey,
    seed: nonceSeed(1),
    noncePubkey: new PublicKey(ADDRESS),
    authorizedPubkey: KEY.publicKey,
    lamports: Number(lamports),
  });
  await send(signed(instructions, await blockhash()));
}

/** Takes all its lamports away (`solana withdraw-from-nonce-account`). */
async function close(): Promise<void> {
  const lamports = (await chain.accounts([ADDRESS])).accounts[0]?.lamports ?? 0n;
  const all = SystemProgram.nonceWithdraw({
    noncePubkey: new PublicKey(ADDRESS),
    authorizedPubkey: KEY.publicKey,
    toPubkey: KEY.publicKey,
    lamports: Number(lamports),
  });
  await send(signed([all], await blockhash()));
}

/** A new one: the development chain derives the next nonce from the blockhash of the transaction. */
async function blockhash(): Promise<string> {
  return (await quickChain(pool).latestBlockhash()).blockhash;
}

function signed(instructions: TransactionInstruction[], recentBlockhash: string): VersionedTransaction {
  const message = new TransactionMessage({ payerKey: KEY.publicKey, recentBlockhash, instructions });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([KEY]);
  return transaction;
}

async function send(transaction: VersionedTransaction): Promise<string> {
  await chain.send(Buffer.from(transaction.serialize()).toString('base64'));
  localnet.controls.produceSlots(6);
  return base58.encode(transaction.signatures[0] ?? new Uint8Array());
}

/** A payment with the current nonce of the account, not sent. */
async function attemptNow() {
  const { slot, accounts } = await chain.accounts([ADDRESS]);
  const { nonce } = NonceAccount.fromAccountData(accounts[0]?.data ?? new Uint8Array());
  const toPubkey = Keypair.generate().publicKey;
  const transfer = SystemProgram.transfer({ fromPubkey: KEY.publicKey, toPubkey, lamports: 2_000_000 });
  const transaction = signed([advanceNonce(ADDRESS, HOT), transfer], nonce);
  const signature = base58.encode(transaction.signatures[0] ?? new Uint8Array());
  return { transaction, facts: { signature, nonceAccount: ADDRESS, nonce, nonceSlot: slot } };
}

/** An advance by a holder of the key without Sluice (`solana new-nonce`); returns the signature. */
async function newNonce(): Promise<string> {
  return send(signed([advanceNonce(ADDRESS, HOT)], await blockhash()));
}

/** So many foreign transactions that name the account. */
async function sendDust(count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await localnet.airdrop(ADDRESS, BigInt(n));
    localnet.controls.produceSlots(3);
  }
}

async function judged(facts: SignedNonceAttempt, cache = blockCache(), by = chain) {
  const nonces = await askNonces(by.pool, [ADDRESS]);
  const [found] = await investigateNonces(by, [facts], nonces, cache);
  if (found === undefined) throw new Error('one attempt has one finding');
  return { ...found, verdict: judgeNonceAttempt(facts, found.evidence) };
}

const BOTH = [0, 1];

function disturb(nodes: readonly number[], method: string, fault: Fault): void {
  for (const node of nodes) localnet.controls.setFault(node, method, fault);
}

describe('an attempt whose nonce was advanced by a transaction that Sluice did not make', () => {
  it('is dead, by the advance and the linked blocks up to it', async () => {
    const { facts } = await attemptNow();
    const past = await newNonce();
    const { verdict, evidence, obstacle } = await judged(facts);
    expect(evidence.finalizedNonces.map(({ answer }) => answer)).not.toContain(facts.nonce);
    expect(evidence).toMatchObject({
      use: null,
      bypass: { signature: past, shownBy: pool.nodes.map(({ name }) => name) },
      coverage: { first: { slot: facts.nonceSlot }, containsSignature: false },
    });
    expect(evidence.coverage?.last.slot).toBe(evidence.bypass?.slot);
    expect(obstacle).toBeNull();
    expect(verdict).toEqual({ kind: 'dead' });
  });

  it('is dead at the second check when the advance is old and two more followed', async () => {
    const { facts } = await attemptNow();
    localnet.controls.produceSlots(2_200);
    const past = await newNonce();
    const second = await attemptNow();
    await send(second.transaction);
    await newNonce();
    const cache = blockCache();
    const early = await judged(facts, cache);
    expect(early).toMatchObject({ verdict: { kind: 'unknown' }, evidence: { coverage: null } });
    expect(early.obstacle).toMatch(/^blocks are linked up to slot \d+ of \d+$/);
    const { verdict, evidence } = await judged(facts, cache);
    expect(evidence).toMatchObject({
      bypass: { signature: past },
      coverage: { first: { slot: facts.nonceSlot } },
    });
    expect(verdict).toEqual({ kind: 'dead' });
    expect((await judged(second.facts)).verdict.kind).toBe('landed');
  });

  it('is dead, or landed, in the end when its account is named more often than one run reads', async () => {
    const sent = await attemptNow();
    await sendDust(4);
    await send(sent.transaction);
    const { facts } = await attemptNow();
    await sendDust(3);
    const past = await newNonce();
    await sendDust(6);

    const few = blockCache({ pageSize: 3, pagesPerCall: 1 });
    const looks = [];
    for (let look = await judged(facts, few); looks.length < 12; look = await judged(facts, few)) {
      looks.push(look);
      if (look.verdict.kind === 'dead') break;
    }
    const last = looks.pop();
    expect(last?.verdict).toEqual({ kind: 'dead' });
    expect(last?.evidence).toMatchObject({ bypass: { signature: past } });
    expect(looks.length).toBeGreaterThan(1);
    for (const { verdict, obstacle } of looks) {
      expect(verdict.kind).toBe('unknown');
      expect(obstacle).toMatch(/is read only down to slot \d+; the next investigation continues there$/);
    }
    expect((await judged(facts, few)).verdict).toEqual({ kind: 'dead' });

    disturb(BOTH, 'getSignatureStatuses', {
      kind: 'result',
      result: { context: { slot: 0 }, value: [null] },
    });
    const uses = [];
    while (uses.length < 12 && uses.at(-1) !== sent.facts.signature)
      uses.push((await judged(sent.facts, few)).evidence.use?.signature ?? null);
    expect(uses.at(-1)).toBe(sent.facts.signature);
    expect((await judged(sent.facts, few)).verdict.kind).toBe('landed');
  });

  it('is dead once a node that lost its history cursor has another one', async () => {
    const { facts } = await attemptNow();
    await newNonce();
    await sendDust(4);
    const few = blockCache({ pageSize: 3, pagesPerCall: 1 });
    expect((await judged(facts, few)).verdict.kind).toBe('unknown');
    disturb(BOTH, 'getSignaturesForAddress', { kind: 'result', result: [] });
    disturb(BOTH, 'getTransaction', { kind: 'null' });
    expect((await judged(facts, few)).obstacle).toMatch(
      /is read only down to slot none; the next investigation continues there$/,
    );
    localnet.controls.clearFaults();
    const kinds = [];
    while (kinds.length < 8 && kinds.at(-1) !== 'dead') kinds.push((await judged(facts, few)).verdict.kind);
    expect(kinds).toEqual(['unknown', 'unknown', 'dead']);
  });

  it('is not dead when it landed before the advance, and every node lost it from its lists and statuses', async () => {
    const { transaction, facts } = await attemptNow();
    await send(transaction);
    const past = await newNonce();
    const { slot } = localnet.controls.chain.ledger.record(past) ?? { slot: 0 };
    disturb(BOTH, 'getSignaturesForAddress', { kind: 'result', result: [{ signature: past, slot }] });
    const lost = { context: { slot }, value: [null] };
    disturb(BOTH, 'getSignatureStatuses', { kind: 'result', result: lost });
    expect(await judged(facts)).toMatchObject({
      verdict: { kind: 'landed' },
      evidence: { use: null, bypass: { signature: past }, coverage: { containsSignature: true } },
    });
  });

  it('is held when its account was closed, and dead once the account is created again and advanced', async () => {
    const { facts } = await attemptNow();
    await close();
    expect((await findDue(chain, [facts])).attempts).toEqual([facts]);
    expect((await judged(facts)).verdict).toMatchObject({ kind: 'unknown' });
    await create();
    expect((await judged(facts)).verdict).toMatchObject({ kind: 'unknown' });
    const past = await newNonce();
    expect(await judged(facts)).toMatchObject({
      verdict: { kind: 'dead' },
      evidence: { bypass: { signature: past } },
    });
  });

  it.each<[string, string, Fault]>([
    ['a block is unavailable', 'getBlock', { kind: 'error', code: -32007, message: 'skipped' }],
    ['no node lists blocks', 'getBlocksWithLimit', { kind: 'http', status: 503 }],
    ['no node returns the advance', 'getTransaction', { kind: 'null' }],
    ['no node lists the advance', 'getSignaturesForAddress', { kind: 'result', result: [] }],
    ['no node returns its status', 'getSignatureStatuses', { kind: 'http', status: 503 }],
  ])('is not dead while %s', async (_title, method, fault) => {
    const { facts } = await attemptNow();
    await newNonce();
    disturb(BOTH, method, fault);
    expect((await judged(facts)).verdict.kind).toBe('unknown');
    localnet.controls.clearFaults();
    expect((await judged(facts)).verdict).toEqual({ kind: 'dead' });
  });

  it('is not kept open by an instruction with an unknown encoding from one node', async () => {
    const { facts } = await attemptNow();
    const past = await newNonce();
    const instructions = [{ programIdIndex: 0, accounts: [0], data: '0' }];
    const message = { accountKeys: [ADDRESS], recentBlockhash: facts.nonce, instructions };
    const result = {
      slot: Number(facts.nonceSlot) + 1,
      meta: { fee: 5_000, err: null },
      transaction: { message },
    };
    disturb([1], 'getTransaction', { kind: 'result', result });
    const [honest] = pool.nodes;
    expect((await judged(facts)).obstacle).toContain(`only ${honest?.name} returns transaction ${past}`);
  });

  it.each<[string, Fault]>([
    ['getBlock', { kind: 'null' }],
    ['getTransaction', { kind: 'null' }],
    ['getMultipleAccounts', { kind: 'http', status: 503 }],
    ['getSignatureStatuses', { kind: 'http', status: 503 }],
  ])('is not dead by one of two nodes, when the other lacks %s', async (method, fault) => {
    const { facts } = await attemptNow();
    await newNonce();
    disturb([1], method, fault);
    expect((await judged(facts)).verdict.kind).toBe('unknown');
  });
});

describe('an attempt whose nonce another transaction used, and which one node of three reports below finalized', () => {
  const statusFault = (err: object | null, confirmationStatus: string): Fault => {
    const status = { slot: 10 ** 12, confirmations: 1, err, confirmationStatus };
    return { kind: 'result', result: { context: { slot: 10 ** 12 }, value: [status] } };
  };
  const FAILED = { InstructionError: [1, { Custom: 1 }] };

  /** Two checks by a pool of three whose last node returns this status, and the report about that node. */
  async function twoLooks(fault: Fault) {
    const { facts } = await attemptNow();
    const used = await send((await attemptNow()).transaction);
    const three = await openNodePool(localnet.rpcUrls);
    try {
      disturb([2], 'getSignatureStatuses', fault);
      const by = quickChain(three);
      const looks = [await judged(facts, blockCache(), by), await judged(facts, blockCache(), by)];
      const [, , liar] = three.report();
      return { used, verdicts: looks.map(({ verdict }) => verdict), liar };
    } finally {
      await three.close();
    }
  }

  it.each(['processed', 'confirmed'])(
    'as a success, %s, is held, the node is distrusted, and the attempt is dead',
    async (seen) => {
      const { used, verdicts, liar } = await twoLooks(statusFault(null, seen));
      const reason = `${liar?.node} reports the transaction as ${seen} in slot ${10 ** 12}, but ${used} used up its nonce`;
      expect(verdicts).toEqual([{ kind: 'unknown', reason }, { kind: 'dead' }]);
      expect(liar?.demotion).toMatchObject({ cause: 'false', reason: expect.stringContaining(used) });
    },
  );

  it('as a failure is held with that reason, because a block may include it without executing it', async () => {
    const { used, verdicts, liar } = await twoLooks(statusFault(FAILED, 'confirmed'));
    const reason = expect.stringContaining(
      `${liar?.node} reports the transaction as confirmed in slot ${10 ** 12}, but ${used}`,
    );
    expect(verdicts).toEqual([
      { kind: 'unknown', reason },
      { kind: 'unknown', reason },
    ]);
    expect(liar?.demotion).toBeNull();
  });
});
