import { base64 } from '@scure/base';
import { ComputeBudgetProgram, MessageV0, PublicKey, SystemProgram } from '@solana/web3.js';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { requestSettlements } from '../../src/ledger/settlements/settlement-row.ts';
import type { Kind } from '../../src/settlement/kind.ts';
import { lifetimeColumns } from '../../src/settlement/lifetimes.ts';
import type { SigningRules } from '../../src/signing/checks.ts';
import { signingRefused } from '../../src/signing/checks.ts';
import type { Signer } from '../../src/signing/signer.ts';
import { decodeMessage, messageHashOf } from '../../src/solana/tx/message.ts';
import type { LandingFixture } from '../solana/landing-fixture.ts';
import { signerOf } from '../support/signer.ts';

/** A test kind: three wallets pay the same amount to one address in one transaction, and a fourth wallet pays the fee. */
export const GATHERING = 'gathering';
export const EACH = 3_000_000n;
const FEE_LAMPORTS = 4n * 5_000n;

export type Keys = Readonly<Record<string, Signer>>;

/** A new signer of each name; these signers and `others` have SOL. */
export async function fundedKeys(
  { localnet }: LandingFixture,
  names: readonly string[],
  others: readonly string[] = [],
): Promise<Keys> {
  const keys = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await signerOf()] as const)),
  );
  for (const address of [...others, ...Object.values(keys).map((key) => key.address)])
    await localnet.airdrop(address, 5_000_000_000n);
  localnet.controls.produceSlots(8);
  return keys;
}

/** Requests a gathering to this address; returns its id. */
export async function requestGathering(ledger: Ledger, destination: string): Promise<string> {
  await requestSettlements(ledger.db, GATHERING, [destination]);
  return `${GATHERING}/${destination}`;
}

/** The first of `keys` pays the fee, the others give. */
export function gathering({ chain }: LandingFixture, keys: Keys): Kind {
  const [payer, ...givers] = Object.values(keys).map(({ address }) => address);
  const nameOf = (address: string) => Object.keys(keys).find((name) => keys[name]?.address === address) ?? '';
  if (payer === undefined) throw new Error('a fee payer is present');
  return {
    compose: async ({ id, subjectId }, { n, salt }) => {
      // Less than 500 micro-lamports for each of 2,000 units is less than one lamport: the fee is exact.
      const price = salt % 500n;
      const lifetime = { kind: 'blockhash', ...(await chain.latestBlockhash()) } as const;
      const message = messageOf(payer, givers, subjectId, lifetime.blockhash, price);
      const { slot, accounts } = await chain.accounts([payer, ...givers]);
      const needOf = (amount: bigint, at: number) => ({
        asset: 'SOL',
        amount,
        finalizedBalance: accounts[at]?.lamports ?? 0n,
        keep: 0n,
      });
      return {
        kind: 'composed',
        attempt: {
          ...lifetimeColumns(lifetime),
          settlementId: id,
          n,
          signers: decodeMessage(message).signers,
          bareAdvance: false,
          message: base64.encode(message),
          messageHash: messageHashOf(message),
          computeUnitLimit: 2_000,
          computeUnitPriceMicroLamports: price,
          feeLamports: FEE_LAMPORTS,
          rentLamports: 0n,
        },
        reservations: [payer, ...givers].map((wallet, at) => ({
          wallet,
          observedSlot: slot,
          needs: [needOf(at === 0 ? FEE_LAMPORTS : EACH, at)],
        })),
      };
    },
    tasks: async ({ subjectId }, { message, signers, signatures }) =>
      signers
        .flatMap((signer, at) => (signatures[at] === null ? [signer] : []))
        .toReversed()
        .map((signer) => ({
          kind: GATHERING,
          key: nameOf(signer),
          message,
          terms: { destination: subjectId },
        })),
    landedAmounts: async () => ({ movedLamports: 0n, amountReceived: EACH * BigInt(givers.length) }),
  };
}

/** The messages that a signer of a gathering accepts: transfers to the destination and nothing else. */
export const GATHERING_RULE: SigningRules = {
  [GATHERING]: {
    roles: ['fee-payer', 'deposit'],
    policy: (message, { destination }) => {
      const transfers = decodeMessage(message).instructions.slice(2);
      const all = transfers.every(
        ({ program, accounts }) =>
          program === SystemProgram.programId.toBase58() && accounts[1]?.address === destination,
      );
      if (!all) throw signingRefused('it pays another address');
    },
  },
};

function messageOf(
  payer: string,
  givers: readonly string[],
  destination: string,
  recentBlockhash: string,
  microLamports: bigint,
): Uint8Array {
  const toPubkey = new PublicKey(destination);
  return MessageV0.compile({
    payerKey: new PublicKey(payer),
    recentBlockhash,
    instructions: [
      ComputeBudgetProgram.setComputeUnitLimit({ units: 2_000 }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports }),
      ...givers.map((giver) =>
        SystemProgram.transfer({ fromPubkey: new PublicKey(giver), toPubkey, lamports: EACH }),
      ),
    ],
  }).serialize();
}
