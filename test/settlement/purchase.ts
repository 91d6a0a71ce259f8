import { type Keypair, MessageV0, PublicKey, SystemProgram, VersionedTransaction } from '@solana/web3.js';
import { DomainError } from '../../src/domain/errors.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { requestSettlements } from '../../src/ledger/settlements/settlement-row.ts';
import { adopt } from '../../src/settlement/adopt.ts';
import type { Kind } from '../../src/settlement/kind.ts';
import type { SigningRules } from '../../src/signing/checks.ts';
import { signingRefused } from '../../src/signing/checks.ts';
import { latestBlockhash } from '../../src/solana/tx/blockhash.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import type { LandingFixture } from '../solana/landing-fixture.ts';
import type { Keys } from './several-signers-kind.ts';

/** A test kind: a buyer pays a seller by a message of the buyer. A Sluice key signs it as fee payer, or the buyer has sent it. */
export const PURCHASE = 'purchase';
export const PRICE = 2_000_000n;
const FEE_LAMPORTS = 10_000n;

/** The buyer's wire bytes, and the slot in which a node accepted their blockhash, or showed them in a block. */
export interface PurchaseOrder {
  readonly wire: Uint8Array;
  readonly acceptedAt: bigint;
}

/** The recorded purchases, by the address of the seller. */
export type Orders = Map<string, PurchaseOrder>;

/** Requests a purchase; returns its id. */
export async function requestPurchase(
  ledger: Ledger,
  orders: Orders,
  seller: string,
  order: PurchaseOrder,
): Promise<string> {
  orders.set(seller, order);
  await requestSettlements(ledger.db, PURCHASE, [seller]);
  return `${PURCHASE}/${seller}`;
}

/** The wire bytes of the buyer, who pays the fee if `feePayer` is null. */
export async function buyerTransaction(
  { pool }: LandingFixture,
  buyer: Keypair,
  seller: string,
  feePayer: string | null,
): Promise<Uint8Array> {
  const { blockhash: recentBlockhash } = await latestBlockhash(pool);
  const payerKey = feePayer === null ? buyer.publicKey : new PublicKey(feePayer);
  const toPubkey = new PublicKey(seller);
  const instructions = [SystemProgram.transfer({ fromPubkey: buyer.publicKey, toPubkey, lamports: PRICE })];
  const transaction = new VersionedTransaction(
    MessageV0.compile({ payerKey, recentBlockhash, instructions }),
  );
  transaction.sign([buyer]);
  return transaction.serialize();
}

/** The only key of `keys` pays the fee of a message with a missing signature. */
export function purchases({ chain }: LandingFixture, orders: Orders, keys: Keys): Kind {
  return {
    compose: async ({ id, subjectId }, position) => {
      const order = orders.get(subjectId);
      if (order === undefined) throw new DomainError('NotFound', `there is no order of ${subjectId}`);
      const ours = Object.values(keys).flatMap((key) => key?.address ?? []);
      const transaction = { wire: order.wire, slot: order.acceptedAt };
      const attempt = await adopt(chain, {
        settlementId: id,
        position,
        transaction,
        ours,
        cost: {
          computeUnitLimit: 200_000,
          computeUnitPriceMicroLamports: 0n,
          feeLamports: FEE_LAMPORTS,
          rentLamports: 0n,
        },
      });
      if (!attempt.signatures?.includes(null)) return { kind: 'composed', attempt, reservations: [] };
      const [wallet = ''] = attempt.signers;
      const { slot: observedSlot, accounts } = await chain.accounts([wallet]);
      const finalizedBalance = accounts[0]?.lamports ?? 0n;
      const needs = [{ asset: 'SOL', amount: FEE_LAMPORTS, finalizedBalance, keep: 0n }];
      return { kind: 'composed', attempt, reservations: [{ wallet, observedSlot, needs }] };
    },
    tasks: async ({ subjectId }, { message }) =>
      Object.keys(keys).map((key) => ({ kind: PURCHASE, key, message, terms: { seller: subjectId } })),
    landedAmounts: async () => ({ movedLamports: 0n, amountReceived: PRICE }),
  };
}

/** The content of a message that the fee payer signs: one transfer of the price to the seller, of which it is no part. */
export const PURCHASE_RULE: SigningRules = {
  [PURCHASE]: {
    roles: ['fee-payer'],
    policy: (message, { seller }, signer) => {
      const { instructions, feePayer } = decodeMessage(message);
      const [transfer, ...others] = instructions;
      const data = Buffer.from(transfer?.data ?? []);
      const isPrice = data.length === 12 && data.readUInt32LE(0) === 2 && data.readBigUInt64LE(4) === PRICE;
      const [from, to] = transfer?.accounts ?? [];
      const isOurs = from?.address === signer || feePayer !== signer;
      if (others.length > 0 || !isPrice || isOurs || to?.address !== seller)
        throw signingRefused('it is not a payment of the price to the seller');
    },
  },
};
