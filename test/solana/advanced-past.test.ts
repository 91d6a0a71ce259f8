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
import { afterAll, beforeAll, expect, it } from 'vitest';
import { judgeNonceAttempt } from '../../src/domain/judge-nonce.ts';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { askNonces, investigateNonces } from '../../src/solana/nonce-investigation.ts';
import { advanceNonce, NONCE_ACCOUNT_SIZE, nonceAddress, nonceSeed } from '../../src/solana/nonces.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';

const KEY = Keypair.generate();
const HOT = KEY.publicKey.toBase58();
const ADDRESS = nonceAddress(HOT, nonceSeed(1));

let localnet: Localnet;
let pool: NodePool;
let chain: Chain;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = new Chain(pool);
  await send(signed(creation(await chain.rentMinimum(NONCE_ACCOUNT_SIZE)), await blockhash()));
});
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
});

function creation(lamports: bigint): TransactionInstruction[] {
  const { instructions } = SystemProgram.createNonceAccount({
    fromPubkey: KEY.publicKey,
    basePubkey: KEY.publicKey,
    seed: nonceSeed(1),
    noncePubkey: new PublicKey(ADDRESS),
    authorizedPubkey: KEY.publicKey,
    lamports: Number(lamports),
  });
  return instructions;
}

/** A new one: the development chain takes what a nonce becomes from the blockhash that the transaction carries. */
async function blockhash(): Promise<string> {
  return (await new Chain(pool).latestBlockhash()).blockhash;
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

it('an attempt whose nonce was advanced with a blockhash is not called dead, and the reason names what did it', async () => {
  const { slot, accounts } = await chain.accounts([ADDRESS]);
  const { nonce } = NonceAccount.fromAccountData(accounts[0]?.data ?? new Uint8Array());
  const transfer = SystemProgram.transfer({
    fromPubkey: KEY.publicKey,
    toPubkey: Keypair.generate().publicKey,
    lamports: 2_000_000,
  });
  const attempt = signed([advanceNonce(ADDRESS, HOT), transfer], nonce);
  const signature = base58.encode(attempt.signatures[0] ?? new Uint8Array());
  const past = await send(signed([advanceNonce(ADDRESS, HOT)], await blockhash()));

  const facts = { signature, nonceAccount: ADDRESS, nonce, nonceSlot: slot };
  const [found] = await investigateNonces(chain, [facts], await askNonces(pool, [ADDRESS]));
  if (found === undefined) throw new Error('one attempt has one finding');
  expect(found.evidence.finalizedNonces.map(({ answer }) => answer)).not.toContain(nonce);
  expect(found.evidence.use).toBeNull();
  expect(judgeNonceAttempt(facts, found.evidence)).toMatchObject({ kind: 'unknown' });
  expect(found.obstacle).toContain(`${past} has advanced ${ADDRESS} past Sluice`);
});
