import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import type { Explanation, SettlementExplanation } from '../../../src/client/client.ts';
import { DomainError } from '../../../src/domain/errors.ts';
import { NONCE_CREATE, settlementId } from '../../../src/domain/settlement-kinds.ts';
import { buildApp } from '../../../src/http/app.ts';
import { requestSettlements } from '../../../src/ledger/settlements/settlement-row.ts';
import { acceptingSlot, adoptedLifetime } from '../../../src/solana/proof/adopted.ts';
import { attemptEvidence } from '../../../src/solana/proof/attempt-evidence.ts';
import { examineNow } from '../../../src/solana/proof/examine.ts';
import type { SignedAttempt } from '../../../src/solana/proof/investigate.ts';
import { blockCache } from '../../../src/solana/proof/linked-blocks.ts';
import { attempt as attemptRow, PLENTY } from '../../ledger/support.ts';
import { LandingFixture, recordProgress } from '../../solana/landing-fixture.ts';
import { recordCalls } from '../../solana/rpc-calls.ts';
import { authorization, EXPLORER, openService, type Service } from '../service.ts';

let service: Service;
let fixture: LandingFixture;
let app: FastifyInstance;

beforeAll(async () => {
  [service, fixture] = await Promise.all([openService(), LandingFixture.open()]);
  const { ledger, temporal } = service;
  app = await buildApp({ ledger, temporal, explorer: EXPLORER, chain: async () => fixture.chain });
});
afterEach(() => fixture.localnet.controls.clearFaults());
afterAll(async () => {
  await app?.close();
  await fixture?.close();
  await service?.close();
});

const get = async (url: string, from = app) =>
  (await from.inject({ url, headers: { authorization } })).json();
const explain = (id: string, from = app): Promise<Explanation> => get(`/v1/withdrawals/${id}/explain`, from);
const names = () => fixture.pool.nodes.map(({ name }) => name);

function terms(id: string) {
  return { id, asset: 'SOL', amount: '5000000', destination: newAddress() };
}

/** A stored withdrawal whose attempt is signed and not sent. */
async function unsent(id: string, signed = true): Promise<SignedAttempt & { raw: string }> {
  const asked = terms(id);
  const attempt = await fixture.attempt(asked.destination, 5_000_000n);
  const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight } = attempt;
  await service.ledger.withdrawals.reserve(asked);
  const life = { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight };
  await service.ledger.attempts.prepare(attemptRow(id, 1, life), PLENTY);
  if (signed) await service.ledger.attempts.storeSignature(id, 1, attempt.signature);
  return attempt;
}

test('an explanation shows for a pending attempt how far each node is from its last height, and calls only read methods', async () => {
  const attempt = await unsent('alive');
  const asked: string[] = [];
  const stop = recordCalls(fixture.pool, asked);
  const { status, nextStep, attempt: explained } = await explain('alive');
  stop();
  expect([...new Set(asked)].toSorted()).toEqual(['getBlock', 'getBlockHeight', 'getSignatureStatuses']);
  expect(status).toBe('sending');
  expect(nextStep).toContain('a worker sends the same bytes again');
  expect(explained).toMatchObject({ n: 1, state: 'signed', verdict: 'alive', reason: null });
  const last = attempt.lastValidBlockHeight.toString();
  expect(explained?.evidence?.lastHeight).toBe(last);
  expect(explained?.evidence?.finalizedHeights.map(({ node }) => node)).toEqual(names());
  expect(explained?.missing).toEqual(
    names().map((node) => ({
      node,
      what: expect.stringContaining(`a finalized block above height ${last}: `),
    })),
  );
});

test('an explanation asks the nodes the same for a pending attempt with a durable nonce', async () => {
  const id = settlementId(NONCE_CREATE, 'account');
  const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, signature } =
    await fixture.attempt(newAddress(), 1_500_000n);
  await requestSettlements(service.ledger.db, NONCE_CREATE, ['account']);
  const life = { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight };
  await service.ledger.attempts.prepare(attemptRow(id, 1, life), PLENTY);
  await service.ledger.attempts.storeSignature(id, 1, signature);
  const answer: SettlementExplanation = await get(`/v1/settlements/explain?id=${encodeURIComponent(id)}`);
  expect(answer).toMatchObject({ id, kind: NONCE_CREATE, status: 'sending', signature });
  expect(answer.attempt).toMatchObject({ n: 1, state: 'signed', verdict: 'alive', reason: null });
  expect(answer.attempt?.evidence?.finalizedHeights.map(({ node }) => node)).toEqual(names());
  expect(answer.attempt?.missing.map(({ node }) => node)).toEqual(names());
  expect(answer.nextStep).toContain('a worker sends the same bytes again');
});

test('an explanation names the missing evidence for an expired attempt, and the silent node', async () => {
  await unsent('silent');
  fixture.localnet.controls.produceSlots(170);
  fixture.localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
  const { attempt, nextStep } = await explain('silent');
  const [, silent = ''] = names();
  expect(attempt).toMatchObject({ verdict: 'unknown', reason: expect.stringContaining(silent) });
  const missing = attempt?.missing ?? [];
  expect(missing.find(({ what }) => what === 'the finalized block height of the node')?.node).toBe(silent);
  expect(missing.find(({ what }) => what.startsWith('a readable status of the signature'))?.node).toBe(
    silent,
  );
  expect(nextStep).toContain('repair the nodes');
});

test('an explanation proves an attempt dead and writes nothing: only a worker writes', async () => {
  const attempt = await unsent('expired');
  fixture.localnet.controls.produceSlots(170);
  const before = await service.ledger.attempts.get('expired', 1);
  const { attempt: explained, nextStep } = await explain('expired');
  expect(explained).toMatchObject({ verdict: 'dead', reason: null, missing: [] });
  expect(nextStep).toContain('composes the next attempt');
  const { evidence } = explained ?? {};
  expect(evidence?.linkedBlocks).toMatchObject({
    first: { blockhash: attempt.blockhash, slot: String(attempt.blockhashSlot), nodes: names() },
    last: { height: String(attempt.lastValidBlockHeight + 1n), nodes: names() },
    containsSignature: false,
  });
  expect(evidence?.statuses.map(({ seen }) => seen)).toEqual(['absent', 'absent']);
  const orders = [evidence?.finalizedHeights.at(-1), evidence?.linkedBlocks, evidence?.statuses[0]];
  const [heights = 0, blocks = 0, statuses = 0] = orders.map((answer) => answer?.order);
  expect(heights < blocks && blocks < statuses).toBe(true);
  expect(await service.ledger.attempts.get('expired', 1)).toEqual(before);
});

test('an explanation shows the dead message of a buyer as ended, with the stored evidence', async () => {
  const id = settlementId('x402', 'order/1');
  const { ledger } = service;
  const explainIt = (): Promise<SettlementExplanation> =>
    get(`/v1/settlements/explain?id=${encodeURIComponent(id)}`);
  const { blockhash, signature } = await fixture.attempt(newAddress(), 2_500_000n);
  const life = await adoptedLifetime(fixture.pool, await acceptingSlot(fixture.pool, blockhash));
  await requestSettlements(ledger.db, 'x402', ['order/1']);
  await ledger.attempts.prepare(attemptRow(id, 1, { blockhash, ...life }), PLENTY);
  await ledger.attempts.storeSignature(id, 1, signature);
  expect((await explainIt()).attempt).toMatchObject({ verdict: 'alive' });
  fixture.localnet.controls.produceSlots(170);
  const row = { signature, blockhash, ...life };
  const { verdict, evidence, times } = await examineNow(fixture.chain, row, blockCache());
  expect(verdict.kind).toBe('dead');
  await ledger.attempts.settle(id, 1, { state: 'dead', proof: attemptEvidence(row, evidence, times) });
  const ended = await explainIt();
  expect(ended).toMatchObject({
    kind: 'x402',
    subject: 'order/1',
    status: 'dead',
    reason: { code: 'expired' },
  });
  expect(ended).toMatchObject({
    waitsFor: 'nothing: its transaction is proved dead',
    attempt: { state: 'dead' },
  });
  expect(ended.nextStep).toBe('nothing: it has ended');
  expect(ended.attempt?.evidence).toMatchObject({
    lastHeight: life.lastValidBlockHeight.toString(),
    blockhashBlock: { blockhash: life.adoptedFrom, slot: life.blockhashSlot.toString() },
    linkedBlocks: { containsSignature: false },
  });
  expect((await get('/v1/settlements?kind=x402&status=dead')).settlements).toMatchObject([{ id, signature }]);
});

test('an explanation shows what an attempt at the signer waits for, and the height of each node', async () => {
  await unsent('unsigned', false);
  const { status, nextStep, attempt } = await explain('unsigned');
  expect(status).toBe('preparing');
  expect(nextStep).toContain('sluice-signer');
  expect(attempt).toMatchObject({ state: 'prepared', signature: null, verdict: 'unknown' });
  expect(attempt?.missing[0]).toEqual({
    node: null,
    what: 'the signature, which is needed to query the nodes',
  });
  expect(attempt?.evidence?.finalizedHeights).toHaveLength(2);
});

test('an explanation shows the stored evidence of an ended withdrawal, with slot and nodes, and asks no node', async () => {
  const attempt = await unsent('paid');
  const landing = fixture.watcher.watch(attempt, recordProgress().hooks);
  const { evidence, times, verdict } = await fixture.withBlocks(landing);
  if (verdict.kind !== 'landed') throw new Error(`it is ${verdict.kind}`);
  const proof = attemptEvidence(attempt, evidence, times);
  await service.ledger.attempts.settle('paid', 1, { state: 'landed', slot: verdict.slot, proof });
  const asked: string[] = [];
  const stop = recordCalls(fixture.pool, asked);
  const { status, waitsFor, attempt: explained } = await explain('paid');
  stop();
  expect(asked).toEqual([]);
  expect(status).toBe('finalized');
  expect(waitsFor).toContain('it is paid, and this is final');
  const slot = verdict.slot.toString();
  const { signature, blockhash } = attempt;
  expect(explained).toMatchObject({ state: 'landed', verdict: 'landed', signature, blockhash, slot });
  expect(explained?.evidence).toMatchObject({ quorum: 2, judgedAt: times.judgedAt.toISOString() });
  expect(explained?.evidence?.statuses).toContainEqual(
    expect.objectContaining({ node: expect.any(String), seen: 'finalized', slot }),
  );
  expect(explained?.evidence?.outcomeConfirmedBy).not.toEqual([]);
});

test('an explanation gives the reason for a withdrawal without an attempt, and asks no node', async () => {
  await service.ledger.withdrawals.reserve(terms('poor'));
  const reason = { code: 'insufficient_funds', message: 'the hot wallet lacks 5 SOL' };
  await service.ledger.settlements.move('poor', 'awaiting_funds', reason);
  expect(await explain('poor')).toEqual({
    id: 'poor',
    status: 'awaiting_funds',
    reason,
    waitsFor: 'SOL or tokens in the hot wallet; the withdrawal then continues automatically',
    nextStep: 'fund the hot wallet; the withdrawal then continues automatically',
    attempt: null,
  });
  const paused = { code: 'paused', message: 'paused: tests (by me)' };
  await service.ledger.settlements.move('poor', 'held', paused);
  await expect.poll(async () => (await explain('poor')).nextStep).toContain('sluice settlements resume');
  expect(await explain('no-such-id')).toMatchObject({ code: 'NotFound', status: 404 });
});

test('an explanation reports unreachable nodes as its answer', async () => {
  await unsent('alone');
  const { ledger, temporal } = service;
  const away = async (): Promise<never> => {
    throw new DomainError('NoHealthyNode', 'no quorum of the nodes answers');
  };
  const lonely = await buildApp({ ledger, temporal, explorer: EXPLORER, chain: away });
  const blind = await buildApp({ ledger, temporal, explorer: EXPLORER });
  const [answer, other] = [await explain('alone', lonely), await explain('alone', blind)];
  await Promise.all([lonely.close(), blind.close()]);
  expect(answer.attempt).toMatchObject({
    verdict: 'unknown',
    reason: 'no quorum of the nodes answers',
    evidence: null,
  });
  expect(other.attempt?.reason).toContain('SLUICE_RPC_URLS');
});

test('the API shows the proof of a dead attempt with the withdrawal, as OpenAPI describes it', async () => {
  const attempt = await unsent('dead');
  expect((await get('/v1/withdrawals/dead')).attempts[0].proof).toBeNull();
  fixture.swallow();
  fixture.localnet.controls.produceSlots(170);
  const { evidence, times } = await fixture.watcher.watch(attempt, recordProgress().hooks);
  const proof = attemptEvidence(attempt, evidence, times);
  await service.ledger.attempts.settle('dead', 1, { state: 'dead', proof });
  const [shown] = (await get('/v1/withdrawals/dead')).attempts;
  expect(shown.proof).toEqual({
    askedAt: times.askedAt.toISOString(),
    judgedAt: times.judgedAt.toISOString(),
    quorum: 2,
    lastHeight: attempt.lastValidBlockHeight.toString(),
    finalizedHeights: names().map((node, at) => ({
      node,
      order: 1 + at,
      height: expect.stringMatching(/^\d+$/),
    })),
    stillTaking: [],
    blockhashBlock: expect.objectContaining({ blockhash: attempt.blockhash, nodes: names() }),
    displacedBy: null,
    linkedBlocks: {
      first: expect.objectContaining({ blockhash: attempt.blockhash }),
      last: expect.objectContaining({ nodes: names() }),
      containsSignature: false,
      agreeingNodes: 2,
      order: 3,
    },
    finalizedNonces: [],
    nonceUsedBy: null,
    statuses: names().map((node, at) => ({
      node,
      order: 4 + at,
      seen: 'absent',
      slot: null,
      error: null,
      atSlot: expect.stringMatching(/^\d+$/),
      historyFrom: '0',
    })),
    outcomeConfirmedBy: [],
    chargedBy: [],
  });
  const asked: string[] = [];
  const stop = recordCalls(fixture.pool, asked);
  const explained = await explain('dead');
  stop();
  expect(explained.attempt).toMatchObject({ n: 1, state: 'dead', verdict: 'dead', missing: [] });
  expect(explained.attempt?.blockhash).toBe(attempt.blockhash);
  expect(explained.attempt?.evidence).toEqual(shown.proof);
  expect(asked).toEqual([]);
  const { schemas } = (await get('/openapi.json')).components;
  const described = Object.keys(schemas.AttemptEvidence.properties);
  expect(described.toSorted()).toEqual(Object.keys(shown.proof).toSorted());
});
