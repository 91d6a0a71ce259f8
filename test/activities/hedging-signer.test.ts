import { Keypair } from '@solana/web3.js';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { hedgingSigner } from '../support/hedging-signer.ts';
import { AMOUNT, landAttempt, preparedAttempt, stateOf } from './prepared-attempt.ts';

const use = useLedger();
const LIFE_AND_MORE = 170;
const fixture = useLandingFixture(hedgingSigner(Keypair.generate()));

beforeEach(async () => {
  await check();
});

function check(): Promise<void> {
  const { ledger } = use;
  return new WalletWatch({ ledger, chain: fixture.chain, hotWallet: fixture.signer.address }).check();
}

/** A prepared attempt of which its signer has given two signatures, and the database has none. */
async function signedTwice() {
  const { id, destination, raw, signature, message } = await preparedAttempt(use.ledger, fixture);
  const second = assembleTransaction(message, await fixture.signer.sign(message));
  expect(second.signature).not.toBe(signature);
  return { id, destination, first: { signature, raw }, second };
}

/** The database may have been restored from a backup. */
async function restore(): Promise<void> {
  await sql`update continuity set identity = 'of another server'`.execute(use.ledger.db);
}

/** The wait of a run that got this signature from its signer. */
const landing = (id: string, signature: string) => landAttempt(use.ledger, fixture, { id, n: 1, signature });

describe('a second signature of one message from the same signer', () => {
  it('is ignored: only the signature that was stored first is ever sent', async () => {
    const { id, destination, first, second } = await signedTwice();
    await use.ledger.attempts.storeSignature(id, 1, first.signature);
    const { end } = landing(id, second.signature);
    expect(await fixture.withBlocks(end)).toMatchObject({ kind: 'finalized', signature: first.signature });
    expect(await use.ledger.attempts.of(id)).toMatchObject([{ signature: first.signature, state: 'landed' }]);
    expect(fixture.localnet.controls.chain.ledger.record(second.signature)).toBeUndefined();
    expect(await fixture.lamportsOf(destination)).toBe(AMOUNT);
    expect((await use.ledger.alerts.list({ open: true, limit: 9 })).rows).toEqual([]);
  });

  it('is ignored when another run stores the first one just before it', async () => {
    const { id, first, second } = await signedTwice();
    const { attempts } = use.ledger;
    const storing = vi.spyOn(attempts, 'storeSignature').mockImplementationOnce(async (...mine) => {
      await attempts.storeSignature(id, 1, first.signature);
      return attempts.storeSignature(...mine);
    });
    const { end } = landing(id, second.signature);
    expect(await fixture.withBlocks(end)).toMatchObject({ kind: 'finalized', signature: first.signature });
    expect(storing).toHaveBeenCalledTimes(3);
    storing.mockRestore();
    expect(fixture.localnet.controls.chain.ledger.record(first.signature)).toBeDefined();
    expect(fixture.localnet.controls.chain.ledger.record(second.signature)).toBeUndefined();
  });

  it('leads to no second payment when the restored database lacks the one that landed', async () => {
    const { id, destination, first, second } = await signedTwice();
    await fixture.chain.send(first.raw);
    fixture.localnet.controls.produceSlots(8);
    await restore();
    const { end, stop } = landing(id, second.signature);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['sending', undefined, 'signed']);
    fixture.localnet.controls.produceSlots(LIFE_AND_MORE);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['held', 'evidence_missing', 'signed']);
    const { reason } = await use.ledger.withdrawals.get(id);
    expect(reason?.message).toContain('under another signature');

    await check();
    expect(await end).toMatchObject({ kind: 'finalized', signature: first.signature });
    expect(await use.ledger.attempts.of(id)).toMatchObject([{ signature: first.signature, state: 'landed' }]);
    expect(await fixture.lamportsOf(destination)).toBe(AMOUNT);
    stop();
  });

  it('is ruled out after a restore only when no block of its lifetime holds the message', async () => {
    await endGap();
    const { id, second } = await signedTwice();
    fixture.swallow();
    await restore();
    const { end } = landing(id, second.signature);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['sending', undefined, 'signed']);
    const silent = { kind: 'http', status: 503 } as const;
    fixture.localnet.controls.setFault(1, 'getSignaturesForAddress', silent);
    fixture.localnet.controls.produceSlots(LIFE_AND_MORE);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['held', 'evidence_missing', 'signed']);
    fixture.localnet.controls.clearFaults(1, 'getSignaturesForAddress');
    expect(await end).toEqual({ kind: 'dead', signature: second.signature });
    const [dead] = await use.ledger.attempts.of(id);
    const absent = { seen: 'absent' };
    expect(dead?.proof).toMatchObject({
      ofMessage: { linkedBlocks: { containsSignature: false }, statuses: [absent, absent] },
    });
  });

  it('is searched by its message even after the gap ended, when every list hides that it landed', async () => {
    await endGap();
    const { id, first, second } = await signedTwice();
    await fixture.chain.send(first.raw);
    fixture.localnet.controls.produceSlots(8);
    await restore();
    for (const node of [0, 1])
      fixture.localnet.controls.setFault(node, 'getSignaturesForAddress', { kind: 'result', result: [] });
    await endGap();
    const { end, stop } = landing(id, second.signature);
    await expect
      .poll(() => stateOf(use.ledger, id), { timeout: 30_000 })
      .toEqual(['held', 'evidence_missing', 'signed']);
    stop();
    await end;
  });
});

/** Ends the gap, as checks do that find nothing lost. */
async function endGap(): Promise<void> {
  await expect
    .poll(
      async () => {
        fixture.localnet.controls.produceSlots(LIFE_AND_MORE);
        await check();
        return use.ledger.continuity.pulse();
      },
      { timeout: 30_000 },
    )
    .toBeNull();
}
