import { Keypair, PublicKey, SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { ALL_SETTLEMENTS } from '../../src/domain/settlement.ts';
import type { WalletSignature } from '../../src/solana/history/pages.ts';
import { MAX_LISTING_LAG } from '../../src/treasury/restore-quarantine.ts';
import { SpendJudge } from '../../src/treasury/unknown-spends.ts';
import { attempt, newId, PLENTY, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { recordCalls } from '../solana/rpc-calls.ts';
import { quickChain } from '../support/quick-chain.ts';
import { useHotWallet } from './hot-wallet.ts';

const NODES = 2;
const ERROR = '{"InstructionError":[0,{"Custom":1}]}';
const use = useLedger();
const hot = useHotWallet(NODES, use);

const open = async () =>
  (await use.ledger.alerts.list({ open: true, limit: 50 })).rows.map(({ kind, subject }) => [kind, subject]);

async function prepares(): Promise<string> {
  const id = newId();
  await use.ledger.withdrawals.reserve(terms(id));
  return (await use.ledger.attempts.prepare(attempt(id), PLENTY)).kind;
}

/** A withdrawal whose first attempt failed in a finalized block, and is recorded as failed. */
async function failed(more = 0n) {
  const id = newId();
  const toPubkey = Keypair.generate().publicKey;
  const lamports = 10n ** 18n + more;
  const transfer = SystemProgram.transfer({ fromPubkey: new PublicKey(hot.address), toPubkey, lamports });
  const signature = await hot.sign([transfer]);
  const slot = BigInt(hot.localnet.controls.chain.ledger.record(signature)?.slot ?? 0);
  await use.ledger.withdrawals.reserve(terms(id));
  await use.ledger.attempts.prepare(attempt(id), PLENTY);
  await use.ledger.attempts.storeSignature(id, 1, signature);
  await use.ledger.attempts.settle(id, 1, { state: 'failed', slot, error: ERROR, proof: {} });
  return { id, signature, slot: Number(slot) };
}

/** These nodes report that the transaction succeeded. */
function reportSuccess(slot: number, nodes: readonly number[]): void {
  const status = { slot, confirmations: null, err: null, confirmationStatus: 'finalized' };
  for (const node of nodes) {
    const result = { context: { slot }, value: [status] };
    hot.localnet.controls.setFault(node, 'getSignatureStatuses', { kind: 'result', result });
    const transaction = { slot, meta: { err: null, fee: 5_000, preBalances: [], postBalances: [] } };
    hot.localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result: transaction });
  }
}

/** Attempts of earlier tests are out of the slots that are listed again. */
async function settled(): Promise<void> {
  hot.localnet.controls.produceSlots(Number(MAX_LISTING_LAG) + 10);
  await hot.check(use.ledger);
}

describe('a node that reports a failed attempt as a success', () => {
  it('stops no payment when the other node shows the recorded failure, and is distrusted', async () => {
    await settled();
    const { slot } = await failed();
    reportSuccess(slot, [0]);
    await hot.check(use.ledger);
    expect([await open(), await prepares()]).toEqual([[], 'prepared']);
    expect(hot.pool.report().map(({ demotion }) => demotion?.cause)).toEqual(['false', undefined]);
  });

  it('delays payments and opens an alert while the other node does not show the transaction', async () => {
    await settled();
    const { slot } = await failed();
    reportSuccess(slot, [0]);
    hot.localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });
    await expect(hot.check(use.ledger)).rejects.toMatchObject({ code: 'NodeFault' });
    expect(await open()).toEqual([['listing_unproved', hot.address]]);
    hot.localnet.controls.clearFaults();
    await hot.check(use.ledger);
    expect(await open()).toEqual([]);
  });

  it('pauses payments when the other node also shows the success', async () => {
    await settled();
    const { id, slot } = await failed();
    reportSuccess(slot, [0, 1]);
    await hot.check(use.ledger);
    expect(await open()).toEqual([['dead_attempt_landed', id]]);
    await use.ledger.settlements.continueUnpaid(id, { actor: 'ops', reason: 'both nodes were wrong' });
  });
});

it('the check of all failed attempts costs one status call per node, and none once two nodes show the failure', async () => {
  await settled();
  const entries: WalletSignature[] = [];
  for (let more = 0n; more < 5n; more += 1n) {
    const { signature, slot } = await failed(more);
    entries.push({ signature, slot: BigInt(slot) });
  }
  const judge = new SpendJudge({ ledger: use.ledger, chain: quickChain(hot.pool) });
  const calls = async () => {
    const asked: string[] = [];
    const stop = recordCalls(hot.pool, asked);
    const { unprovenSignatures } = await judge.judge(hot.address, entries, ALL_SETTLEMENTS);
    stop();
    expect(unprovenSignatures.size).toBe(0);
    return asked;
  };
  const once = Array.from({ length: NODES }, () => 'getSignatureStatuses');
  expect([await calls(), await calls()]).toEqual([once, []]);
  judge.forget();
  hot.localnet.controls.setFault(1, 'getSignatureStatuses', { kind: 'http', status: 503 });
  await calls();
  hot.localnet.controls.clearFaults();
  expect(await calls()).toEqual(once);
});
