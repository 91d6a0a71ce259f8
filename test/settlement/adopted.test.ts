import { base58 } from '@scure/base';
import {
  Keypair,
  MessageV0,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { SettlementStatus } from '../../src/domain/settlement.ts';
import type { Preparation } from '../../src/domain/steps.ts';
import { type Adoption, adopt, type BuyersTransaction } from '../../src/settlement/adopt.ts';
import { createLanding } from '../../src/settlement/land.ts';
import { prepareNext } from '../../src/settlement/prepare.ts';
import { AdoptedLifetimes, acceptingSlot, adoptedLifetime } from '../../src/solana/proof/adopted.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { codeOf, openReservations, resume, useLedger } from '../ledger/support.ts';
import { useLandingFixture } from '../solana/landing-fixture.ts';
import { activityEnvironment } from '../support/activity.ts';
import { hedgingSigner } from '../support/hedging-signer.ts';
import { buyerTransaction, type Orders, PRICE, PURCHASE, purchases, requestPurchase } from './purchase.ts';
import { fundedKeys, type Keys } from './several-signers-kind.ts';

const COST = {
  computeUnitLimit: 200_000,
  computeUnitPriceMicroLamports: 0n,
  feeLamports: 5_000n,
  rentLamports: 0n,
};
const PLACE = { n: 1, salt: 0n, lastPrice: null };
const use = useLedger();
const orders: Orders = new Map();
const buyer = Keypair.generate();
const fixture = useLandingFixture();
let keys: Keys;

beforeAll(async () => {
  keys = await fundedKeys(fixture, ['fee-payer/1'], [buyer.publicKey.toBase58()]);
});

const payer = (): string => keys['fee-payer/1']?.address ?? '';
const tip = () => fixture.localnet.controls.chain.ledger.tip;

async function prepared(id: string): Promise<SettlementStatus | 'prepared'> {
  const settlement = await use.ledger.settlements.get(id);
  const shown = { status: 'requested', code: null } as const;
  const work = (): Promise<Preparation> =>
    prepareNext({ ledger: use.ledger, kind: purchases(fixture, orders, keys) }, settlement, shown);
  const running: Promise<Preparation> = activityEnvironment().run(work);
  const preparation = await running;
  return preparation.kind === 'prepared' ? 'prepared' : preparation.status;
}

/** An order whose buyer pays the fee, or `feePayer`. */
async function ordered(feePayer: string | null) {
  const seller = newAddress();
  const wire = await buyerTransaction(fixture, buyer, seller, feePayer);
  return {
    wire,
    id: await requestPurchase(use.ledger, orders, seller, { wire, acceptedAt: BigInt(tip().slot) }),
  };
}

describe('the life of an adopted message', () => {
  it('begins a whole lifetime below the slot that accepted its blockhash, and ends a lifetime above the highest block', async () => {
    const { controls } = fixture.localnet;
    for (let times = 0; times < 30; times += 1) {
      controls.produceSlots(7);
      controls.skipSlots(20);
    }
    controls.produceSlots(5);
    const { blockhash } = await latestBlockhash(fixture.pool);
    const slot = await acceptingSlot(fixture.pool, blockhash);
    if (slot === null) throw new Error('no node accepts a new blockhash');
    const { blockhashHeight, blockhashSlot, lastValidBlockHeight } = await adoptedLifetime(
      fixture.pool,
      slot,
    );
    expect(lastValidBlockHeight).toBe(BigInt(tip().height) + 150n);
    expect(blockhashHeight).toBeLessThan(BigInt(tip().height) - 150n);
    expect(blockhashSlot).toBeLessThan(slot - 400n);
  });

  it('begins at the newest finalized block when only Sluice can complete it', async () => {
    const { blockhashHeight, adoptedFrom } = await adoptedLifetime(fixture.pool, null);
    const { controls } = fixture.localnet;
    expect(blockhashHeight).toBe(BigInt(tip().height - controls.chain.depth('finalized')));
    expect(adoptedFrom).toBe(controls.chain.at('finalized').blockhash);
  });

  it('is unknown for a blockhash that no node accepts', async () => {
    expect(await acceptingSlot(fixture.pool, newAddress())).toBeNull();
  });
});

describe('an adopted settlement', () => {
  it('is recorded during a payment pause when all have signed, and waits when Sluice has yet to sign', async () => {
    await use.ledger.pauses.begin({ actor: 'ops', reason: 'a look' });
    const [whole, ours] = [await ordered(null), await ordered(payer())];
    expect([await prepared(whole.id), await prepared(ours.id)]).toEqual(['prepared', 'held']);
    expect(await use.ledger.settlements.get(whole.id)).toMatchObject({ status: 'sending' });
    expect(await use.ledger.attempts.of(whole.id)).toMatchObject([{ state: 'signed' }]);
    await resume(use.ledger);
    expect(await prepared(ours.id)).toBe('prepared');
    expect(await use.ledger.settlements.get(ours.id)).toMatchObject({ status: 'preparing' });
  });

  it('is rejected when another one has the same transaction, because it cannot be composed again', async () => {
    const { wire, id } = await ordered(payer());
    expect(await prepared(id)).toBe('prepared');
    const acceptedAt = BigInt(tip().slot);
    const second = await requestPurchase(use.ledger, orders, newAddress(), { wire, acceptedAt });
    expect(await prepared(second)).toBe('rejected');
    expect((await use.ledger.settlements.get(second)).reason?.code).toBe('message_taken');
  });

  it('ends with its proved death, releases its reservation, and is never prepared again', async () => {
    const { id } = await ordered(payer());
    await prepared(id);
    expect(await openReservations(use.ledger, payer(), 'SOL')).toBeGreaterThan(0n);
    const before = await openReservations(use.ledger, payer(), 'SOL');
    await use.ledger.attempts.settle(id, 1, { state: 'dead', signature: null, proof: { is: 'a proof' } });
    expect(await use.ledger.settlements.get(id)).toMatchObject({
      status: 'dead',
      reason: { code: 'expired' },
    });
    expect(before - (await openReservations(use.ledger, payer(), 'SOL'))).toBe(10_000n);
    expect(await prepared(id)).toBe('dead');
  });
});

describe('the transaction of a buyer', () => {
  const adoptionOf = (transaction: BuyersTransaction): Adoption => ({
    settlementId: 'purchase/1',
    position: PLACE,
    transaction,
    ours: [payer()],
    cost: COST,
  });
  const slotNow = () => BigInt(tip().slot);
  const adopted = (wire: Uint8Array, slot: bigint | null = slotNow()) =>
    adopt(fixture, adoptionOf({ wire, slot }));
  const messageOf = async (advances: boolean) => {
    const authority = buyer.publicKey;
    const advance = SystemProgram.nonceAdvance({
      noncePubkey: Keypair.generate().publicKey,
      authorizedPubkey: authority,
    });
    const toPubkey = new PublicKey(newAddress());
    const pays = SystemProgram.transfer({ fromPubkey: authority, toPubkey, lamports: 1n });
    const { blockhash: recentBlockhash } = await latestBlockhash(fixture.pool);
    const instructions = advances ? [advance, pays] : [pays];
    return { payerKey: authority, recentBlockhash, instructions };
  };

  it.each(['compileToV0Message', 'compileToLegacyMessage'] as const)(
    'is adopted as it came: %s',
    async (compile) => {
      const terms = await messageOf(false);
      const transaction = new VersionedTransaction(new TransactionMessage(terms)[compile]());
      transaction.sign([buyer]);
      const { signatures, blockhash, signers } = await adopted(transaction.serialize());
      expect(signatures).toHaveLength(1);
      expect({ blockhash, signers }).toEqual({
        blockhash: terms.recentBlockhash,
        signers: [buyer.publicKey.toBase58()],
      });
    },
  );

  it('is refused when a signature is invalid, it never expires, or it is no transaction', async () => {
    const wire = await buyerTransaction(fixture, buyer, newAddress(), payer());
    const changed = wire.with(wire.length - 1, 1);
    const lasting = new VersionedTransaction(MessageV0.compile(await messageOf(true)));
    lasting.sign([buyer]);
    for (const bytes of [changed, lasting.serialize(), wire.subarray(0, 90), Uint8Array.of(1, 2, 3)])
      expect(await codeOf(adopted(bytes))).toBe('InvalidRequest');
  });

  it('may lack only the signature of a Sluice key', async () => {
    const unsigned = (wire: Uint8Array, index: number) =>
      wire.slice().fill(0, 1 + 64 * index, 65 + 64 * index);
    const shared = await buyerTransaction(fixture, buyer, newAddress(), payer());
    expect((await adopted(shared, null)).signatures).toEqual([null, expect.any(String)]);
    const own = await buyerTransaction(fixture, buyer, newAddress(), null);
    for (const bytes of [unsigned(shared, 1), unsigned(own, 0)])
      expect(await codeOf(adopted(bytes, null))).toBe('InvalidRequest');
  });

  it('is refused when no node accepts its blockhash, because its lifetime is then unknown', async () => {
    const terms = {
      ...(await messageOf(false)),
      payerKey: new PublicKey(payer()),
      recentBlockhash: newAddress(),
    };
    const transaction = new VersionedTransaction(MessageV0.compile(terms));
    transaction.sign([buyer]);
    const unknown = adopted(transaction.serialize(), null);
    await expect(unknown).rejects.toThrow(`no node accepts the blockhash ${terms.recentBlockhash}`);
  });

  it('ends although one node returns an endless slot for the acceptance of its blockhash', async () => {
    const wire = await buyerTransaction(fixture, buyer, newAddress(), payer());
    const adopting = { pool: fixture.pool, lifetimes: new AdoptedLifetimes(fixture.pool) };
    const lifeFrom = async (slot: bigint) => {
      const { lastValidBlockHeight } = await adopt(adopting, adoptionOf({ wire, slot }));
      return lastValidBlockHeight ?? 0n;
    };
    const honest = await lifeFrom(slotNow());
    expect(await lifeFrom(9_000_000_000_000n)).toBeLessThan(honest + 150n);
  });

  it('begins its lifetime below the slot in which it was seen when all have signed, and is refused without that slot', async () => {
    const wire = await buyerTransaction(fixture, buyer, newAddress(), null);
    expect(await codeOf(adopted(wire, null))).toBe('InvalidRequest');
    const { blockhashHeight } = await adopted(wire);
    expect(blockhashHeight).toEqual((await adoptedLifetime(fixture.pool, slotNow())).blockhashHeight);
  });
});

describe('a message with two signatures of its buyer', () => {
  it('is not dead when it landed under the other signature', async () => {
    const seller = newAddress();
    const wire = await buyerTransaction(fixture, buyer, seller, null);
    const message = readSigned(wire)?.message ?? new Uint8Array();
    const other = assembleTransaction(message, await hedgingSigner(buyer).sign(message));
    const id = await requestPurchase(use.ledger, orders, seller, { wire, acceptedAt: BigInt(tip().slot) });
    await prepared(id);
    await fixture.chain.send(other.raw);
    fixture.swallow();
    fixture.localnet.controls.produceSlots(170);
    const kinds = { [PURCHASE]: purchases(fixture, orders, keys) };
    const { watcher, chain } = fixture;
    const landing = createLanding({ ledger: use.ledger, watcher, chain, kinds, recheckMs: 50 });
    const environment = activityEnvironment();
    const signature = base58.encode(wire.subarray(1, 65));
    expect(signature).not.toBe(other.signature);
    const landed = { kind: 'finalized', signature: other.signature };
    expect(await environment.run(() => landing.landAttempt({ id, n: 1, signature }))).toMatchObject(landed);
    expect(await fixture.lamportsOf(seller)).toBe(PRICE);
    expect((await use.ledger.settlements.get(id)).status).toBe('finalized');
    expect(await use.ledger.alerts.listOpenAbout(id)).toEqual([]);
    fixture.localnet.controls.clearFaults();
  });
});
