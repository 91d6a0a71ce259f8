import { Keypair, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Composer } from '../../src/activities/composition.ts';
import { createLanding } from '../../src/activities/landing.ts';
import { NonceLifetimes } from '../../src/activities/lifetimes.ts';
import { createNonceUpkeep } from '../../src/activities/nonce-upkeep.ts';
import { createPreparation } from '../../src/activities/preparation.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { WalletWatch } from '../../src/activities/wallet-watch.ts';
import type {
  Landing,
  NonceUpkeepEnd,
  NonceUpkeepRequest,
  NonceUpkeepTask,
  Preparation,
} from '../../src/domain/steps.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { NonceAccountRow } from '../../src/ledger/nonces.ts';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { loadKeypair } from '../../src/signing/signer.ts';
import { Chain } from '../../src/solana/chain.ts';
import { FeePlanner } from '../../src/solana/fees.ts';
import { LandingWatcher } from '../../src/solana/landing.ts';
import { nonceAddress, nonceSeed, readNonceAccount } from '../../src/solana/nonces.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { freshDatabase } from '../support/postgres.ts';

const HOT_KEY = Keypair.generate();
const HOT = HOT_KEY.publicKey.toBase58();
const BOUNDS = { priceCapMicroLamports: 1_000_000n, allowHookAccounts: false };
const AMOUNT = 2_000_000n;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let ledger: Ledger;
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let clock: NodeJS.Timeout;
let act: ReturnType<typeof activities>;

function activities(signer: Awaited<ReturnType<typeof loadKeypair>>) {
  const fees = new FeePlanner(chain, { floorMicroLamports: 1_000n, capMicroLamports: 1_000_000n });
  const watcher = new LandingWatcher(chain, { pollMs: 20, resendMs: 100, heightMs: 50 });
  const composer = new Composer({
    chain,
    fees,
    lifetimes: new NonceLifetimes({ ledger, chain, hotWallet: HOT }),
    rules: { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: BOUNDS,
  });
  return {
    ...createPreparation({
      ledger,
      composer,
      walletWatch: new WalletWatch({ ledger, chain, hotWallet: HOT }),
    }),
    ...createLanding({ ledger, watcher }),
    ...createNonceUpkeep({ ledger, chain, fees, watcher, hotWallet: HOT }),
    ...createSignerActivities({ signer, bounds: BOUNDS }),
  };
}

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openLedger(database.url);
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = new Chain(pool);
  act = activities(await loadKeypair(JSON.stringify([...HOT_KEY.secretKey])));
  clock = setInterval(() => localnet.controls.produceSlot(), 40);
});
afterAll(async () => {
  clearInterval(clock);
  await pool?.close();
  await localnet?.close();
  await ledger?.close();
  await database?.drop();
});

/** Runs an activity that needs a context, as a worker would. */
function run<A, R>(activity: (input: A) => Promise<R>, input: A): Promise<R> {
  return new MockActivityEnvironment().run(activity, input);
}

/** What the workflow `nonceUpkeep` does. */
async function upkeep(request: NonceUpkeepRequest): Promise<NonceUpkeepEnd | null> {
  const task = await act.prepareUpkeep(request);
  if (task === null) return null;
  const { signature } = await act.signUpkeep(task);
  return landUpkeep(task, signature);
}

function landUpkeep({ messageHash }: NonceUpkeepTask, signature: string): Promise<NonceUpkeepEnd> {
  return run((input) => act.landUpkeep(input), { messageHash, signature });
}

function land(signed: Awaited<ReturnType<typeof sign>>): Promise<Landing> {
  return run((input) => act.landAttempt(input), signed);
}

async function newAccount(): Promise<NonceAccountRow> {
  const { address } = await ledger.nonces.register(HOT, (position) => nonceAddress(HOT, nonceSeed(position)));
  expect(await upkeep({ kind: 'create', address })).toMatchObject({ state: 'landed' });
  return account(address);
}

async function account(address: string): Promise<NonceAccountRow> {
  const row = await ledger.nonces.get(address);
  if (row === undefined) throw new Error(`${address} is not on record`);
  return row;
}

let serial = 0;

async function withdrawal() {
  serial += 1;
  const destination = Keypair.generate().publicKey.toBase58();
  const asset = 'SOL';
  const terms = {
    id: `n-${serial}`,
    asset,
    amount: AMOUNT.toString(),
    destination,
    acceptEmptyWallet: true,
  };
  await ledger.withdrawals.reserve(terms);
  return terms;
}

type Paid = Awaited<ReturnType<typeof withdrawal>>;

function prepare(terms: Paid): Promise<Preparation> {
  return act.prepareAttempt({ terms, shown: { status: 'requested', code: null } });
}

/** The attempt that was prepared, signed by the signer. */
async function sign({ id, destination, amount }: Paid, preparation: Preparation) {
  if (preparation.kind !== 'prepared') throw new Error(`${id} is not prepared but ${preparation.kind}`);
  const { n, signature: _signature, ...attempt } = preparation.attempt;
  const task = { withdrawalId: id, asset: 'SOL', amount, destination, memo: null, ...attempt };
  const { signature } = await act.signTransaction(task);
  return { id, n, signature };
}

async function lamports(address: string): Promise<bigint> {
  return (await chain.accounts([address])).accounts[0]?.lamports ?? 0n;
}

describe('a withdrawal with a durable nonce', () => {
  it('waits while no account is free, and says so', async () => {
    expect(await prepare(await withdrawal())).toMatchObject({
      kind: 'waiting',
      status: 'held',
      reason: { code: 'no_free_nonce' },
    });
  });

  it('is paid, and its account is free again only with another finalized nonce', async () => {
    const { address, nonce, state } = await newAccount();
    expect(state).toBe('free');
    const paid = await withdrawal();
    const preparation = await prepare(paid);
    expect(await account(address)).toMatchObject({ state: 'leased', withdrawalId: paid.id, nonce });
    const [row] = await ledger.attempts.of(paid.id);
    expect(row).toMatchObject({ nonceAccount: address, blockhash: nonce, lastValidBlockHeight: null });

    const landing = await land(await sign(paid, preparation));
    expect(landing.kind).toBe('finalized');
    expect(await lamports(paid.destination)).toBe(AMOUNT);
    expect(await account(address)).toMatchObject({ state: 'unproved', withdrawalId: null, nonce });
    const other = await withdrawal();
    const again = await sign(other, await preparedWhenFree(other));
    expect((await land(again)).kind).toBe('finalized');
    const [later] = await ledger.attempts.of(other.id);
    expect(later?.nonceAccount).toBe(address);
    expect(later?.blockhash).not.toBe(nonce);
  });

  it('shares no nonce with any other, however many prepare at once', async () => {
    await newAccount();
    await newAccount();
    const all = await Promise.all(Array.from({ length: 9 }, () => withdrawal()));
    const preparations = await Promise.all(all.map(prepare));
    const prepared = preparations.filter(({ kind }) => kind === 'prepared');
    expect(prepared).toHaveLength(3);
    const waiting = preparations.filter(
      (one) => one.kind === 'waiting' && one.reason.code === 'no_free_nonce',
    );
    expect(waiting).toHaveLength(6);
    const ended = async () => {
      const steps = await Promise.all(all.map(prepare));
      for (const [index, step] of steps.entries()) {
        const paid = all[index];
        if (paid !== undefined && step.kind === 'prepared') await land(await sign(paid, step));
      }
      return steps.filter(({ kind }) => kind === 'ended').length;
    };
    await expect.poll(ended, { timeout: 60_000 }).toBe(9);
    const rows = (await Promise.all(all.map(({ id }) => ledger.attempts.of(id)))).flat();
    expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 9 }, () => 'landed'));
    expect(new Set(rows.map((row) => `${row.nonceAccount}/${row.blockhash}`)).size).toBe(9);
    for (const { destination } of all) expect(await lamports(destination)).toBe(AMOUNT);
  });

  it('is killed by a bare advance and then paid once, by a second attempt', async () => {
    const paid = await withdrawal();
    const signed = await sign(paid, await preparedWhenFree(paid));
    const [first] = await ledger.attempts.of(paid.id);
    if (!first?.nonceAccount) throw new Error('it has no nonce account');
    const request = { kind: 'advance', address: first.nonceAccount, nonce: first.blockhash } as const;
    expect(await upkeep(request)).toMatchObject({ state: 'landed' });
    expect(await land(signed)).toMatchObject({ kind: 'dead' });
    expect(await upkeep(request), 'a late request harms nobody').toBeNull();

    const second = await sign(paid, await preparedWhenFree(paid));
    expect((await land(second)).kind).toBe('finalized');
    expect(await lamports(paid.destination)).toBe(AMOUNT);
    const rows = await ledger.attempts.of(paid.id);
    expect(rows.map(({ state }) => state)).toEqual(['dead', 'landed']);
    expect(rows[0]?.proof).toMatchObject({ use: { nonce: first.blockhash } });
  });

  it('lets an advance that came too late die, and pays once', async () => {
    const paid = await withdrawal();
    const signed = await sign(paid, await preparedWhenFree(paid));
    const [row] = await ledger.attempts.of(paid.id);
    if (!row?.nonceAccount) throw new Error('it has no nonce account');
    const request = { kind: 'advance', address: row.nonceAccount, nonce: row.blockhash } as const;
    const task = await act.prepareUpkeep(request);
    if (task === null) throw new Error('the account is leased with this nonce');
    expect((await land(signed)).kind).toBe('finalized');
    const { signature } = await act.signUpkeep(task);
    expect(await landUpkeep(task, signature)).toMatchObject({
      state: 'dead',
    });
    expect(await lamports(paid.destination)).toBe(AMOUNT);
  });

  it('leaves no transaction of the hot wallet that the record does not know', async () => {
    await prepare(await withdrawal());
    expect(await ledger.db.selectFrom('alert').selectAll().execute()).toEqual([]);
  });

  // The last one: it takes the hot wallet's money away past the record.
  it('ends failed where its transaction fails on chain, which uses up the nonce', async () => {
    const paid = await withdrawal();
    const signed = await sign(paid, await preparedWhenFree(paid));
    const [row] = await ledger.attempts.of(paid.id);
    await drain(1_500_000n);
    expect(await land(signed)).toMatchObject({ kind: 'failed' });
    expect(await prepare(paid)).toMatchObject({ kind: 'ended', status: 'failed' });
    const { address } = await account(row?.nonceAccount ?? '');
    await expect.poll(() => finalizedNonce(address)).not.toBe(row?.blockhash);
    expect(await lamports(paid.destination)).toBe(0n);
  });
});

async function preparedWhenFree(paid: Paid): Promise<Preparation> {
  await expect.poll(async () => (await prepare(paid)).kind, { timeout: 30_000 }).toBe('prepared');
  return prepare(paid);
}

async function finalizedNonce(address: string): Promise<string | undefined> {
  return readNonceAccount((await chain.accounts([address])).accounts[0] ?? null)?.nonce;
}

/** What a thief with the key would do: all but `left` lamports leave the hot wallet. */
async function drain(left: bigint): Promise<void> {
  const { blockhash } = await chain.latestBlockhash();
  const transfer = SystemProgram.transfer({
    fromPubkey: HOT_KEY.publicKey,
    toPubkey: Keypair.generate().publicKey,
    lamports: (await lamports(HOT)) - left,
  });
  const message = new TransactionMessage({
    payerKey: HOT_KEY.publicKey,
    recentBlockhash: blockhash,
    instructions: [transfer],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([HOT_KEY]);
  await chain.send(Buffer.from(transaction.serialize()).toString('base64'));
  await expect.poll(() => lamports(HOT)).toBe(left - 5_000n);
}
