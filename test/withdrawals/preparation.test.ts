import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { createPreparation } from '../../src/activities/withdrawals.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { WalletWatch } from '../../src/treasury/hot-wallet-watch.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { withdrawalKind } from '../../src/withdrawals/kind.ts';
import { openReservations } from '../ledger/support.ts';
import { freshDatabase } from '../support/postgres.ts';

const HOT = Keypair.generate().publicKey.toBase58();
const AMOUNT = 1_000_000n;
const SEVERAL = 20;
const PRICE_CAP = 1_000_000n;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let ledger: Ledger;
let localnet: Localnet;
let pool: NodePool;
let prepare: ReturnType<typeof createPreparation>;

beforeAll(async () => {
  database = await freshDatabase();
  ledger = await openLedger(database.url);
  // No slot passes: all attempts carry one blockhash.
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  const chain = new Chain(pool);
  const fees = new FeePlanner(chain, {
    floorMicroLamports: 1_000n,
    capMicroLamports: PRICE_CAP,
    maxFeeLamports: 500_000n,
  });
  const bounds = { priceCapMicroLamports: PRICE_CAP, maxFeeLamports: 500_000n, allowHookAccounts: false };
  const rules = { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: {} };
  const lifetimes = blockhashLifetimes(chain);
  const composer = new Composer({ chain, fees, lifetimes, rules, bounds });
  const walletWatch = new WalletWatch({ ledger, chain, hotWallet: HOT });
  prepare = createPreparation({ ledger, kind: withdrawalKind({ chain, ledger, composer, walletWatch }) });
});
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
  await ledger?.close();
  await database?.drop();
});

describe('the preparation of attempts', () => {
  it('makes different messages of equal withdrawals with one blockhash, and stores amount and fee of each', async () => {
    const destination = Keypair.generate().publicKey.toBase58();
    const ids = Array.from({ length: SEVERAL }, (_, index) => `equal-${index}`);
    const terms = { asset: 'SOL', amount: AMOUNT.toString(), destination, acceptEmptyWallet: true };
    for (const id of ids) await ledger.withdrawals.reserve({ id, ...terms });
    const prepared = await Promise.all(
      ids.map((id) =>
        prepare.prepareAttempt({ terms: { id, ...terms }, shown: { status: 'requested', code: null } }),
      ),
    );
    expect(prepared.map(({ kind }) => kind)).toEqual(Array(SEVERAL).fill('prepared'));

    const attempts = (await Promise.all(ids.map((id) => ledger.attempts.of(id)))).flat();
    expect(new Set(attempts.map(({ blockhash }) => blockhash)).size).toBe(1);
    expect(new Set(attempts.map(({ message }) => message)).size).toBe(SEVERAL);
    const fees = attempts.map(({ feeLamports }) => feeLamports);
    expect(fees.every((fee) => fee > 0n)).toBe(true);
    expect(await openReservations(ledger, HOT, 'SOL')).toBe(
      fees.reduce((sum, fee) => sum + AMOUNT + fee, 0n),
    );
  });
});
