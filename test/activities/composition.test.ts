import { base64 } from '@scure/base';
import { NATIVE_MINT } from '@solana/spl-token';
import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { formatUnits } from '../../src/domain/amount.ts';
import { DomainError } from '../../src/domain/errors.ts';
import { WITHDRAWAL } from '../../src/domain/settlement-kinds.ts';
import type { WithdrawalRow } from '../../src/ledger/withdrawals/withdrawals.ts';
import { SIGNING_RULES } from '../../src/platform/roles/signer.ts';
import type { Composition } from '../../src/settlement/kind.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import type { SigningBounds } from '../../src/signing/checks.ts';
import { type Signer } from '../../src/signing/signer.ts';
import { Chain } from '../../src/solana/chain.ts';
import type { AccountView } from '../../src/solana/rpc/agreed-accounts.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import { assembleTransaction, composeTransfer } from '../../src/solana/tx/transfer.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import type { PayeeRules } from '../../src/withdrawals/payee.ts';
import { runActivity } from '../support/activity.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';
import { signerOf } from '../support/signer.ts';
import { FIRST_ATTEMPT, withdrawalRow } from './composition-fixture.ts';
import {
  fixedAccount,
  hookedMint,
  hookList,
  type ListEntry,
  plantHookList,
  plantHookProgram,
} from './hook-program.ts';

const HOT_KEY = Keypair.generate();
const HOT = HOT_KEY.publicKey.toBase58();
const HOOKS_ALLOWED = {
  priceCapMicroLamports: QUICK_PRICES.capMicroLamports,
  maxFeeLamports: 500_000n,
  allowHookAccounts: true,
};
const NO_HOOKS = { ...HOOKS_ALLOWED, allowHookAccounts: false };
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let signer: Signer;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet: HOT });
  pool = await openNodePool(localnet.rpcUrls);
  chain = quickChain(pool);
  signer = await signerOf(HOT_KEY);
});
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

/** The real chain, whose nodes fail at one account. */
class DeafChain extends Chain {
  override agreedReading<T>(
    known: readonly string[],
    read: (view: AccountView) => Promise<T>,
    relied: (reading: T) => unknown,
  ): Promise<T> {
    const deaf = (view: AccountView): AccountView => ({
      account: async (address) => {
        if (address === localnet.mint.address) throw new DomainError('NodeFault', 'out of order');
        return view.account(address);
      },
    });
    return super.agreedReading(known, (view) => read(deaf(view)), relied);
  }
}

function composerWith(
  tokenPolicy: PayeeRules['tokenPolicy'] = { transferHook: 'allow' },
  bounds = HOOKS_ALLOWED,
  on = chain,
): Composer {
  const rules = { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy };
  const fees = new FeePlanner(on, QUICK_PRICES);
  return new Composer({ chain: on, fees, lifetimes: blockhashLifetimes(on), rules, bounds });
}

/** A mint in the hot wallet's hands whose hook demands `demanded` extra accounts, with that list (null = none). */
async function mintWithHook(demanded: number, list: Uint8Array | null): Promise<string> {
  const program = plantHookProgram(localnet, demanded);
  const mint = await hookedMint(localnet, program);
  await localnet.mintTo(mint, HOT, 1_000_000n);
  if (list !== null) plantHookList(localnet, mint, program, list);
  return mint;
}

const compose = (terms: WithdrawalRow, composer = composerWith()): Promise<Composition> =>
  composer.compose(terms, FIRST_ATTEMPT);
const refusedFor = (code: string, message = ''): object => ({
  kind: 'rejected',
  reason: { code, message: expect.stringContaining(message) },
});

const HOOK_REFUSES = { code: 'NodeFault', message: expect.stringContaining('"Custom":1') };

/** The hook's own address for a wallet that it reads out of the destination's token account. */
const PDA_OF_RECEIVER: ListEntry = { kind: 1, config: Uint8Array.of(4, 2, 32, 32) };

describe('a transfer with a transfer hook', () => {
  it.each([
    ['a fixed account', () => fixedAccount(newAddress())],
    ['an address made of an account that the transfer makes', () => PDA_OF_RECEIVER],
  ])(
    'includes %s that its hook requires, and a signer that allows the hook signs it',
    async (_what, entry) => {
      const terms = withdrawalRow(await mintWithHook(1, hookList([entry()])));
      const composed = await compose(terms);
      if (composed.kind !== 'composed') throw new Error(composed.reason.message);
      const { message, feeLamports, rentLamports, createsAccount = null } = composed.attempt;
      const transfer = decodeMessage(base64.decode(message)).instructions.at(-1);
      expect(transfer?.accounts).toHaveLength(4 + 1 + 2);
      const transferTerms = {
        withdrawalId: terms.id,
        asset: terms.asset,
        amount: terms.amount.toString(),
        destination: terms.destination,
        memo: null,
        maxFeeLamports: feeLamports.toString(),
        maxRentLamports: rentLamports.toString(),
        createsAccount,
      };
      const task = { kind: WITHDRAWAL, key: 'hot', message, terms: transferTerms };
      const sign = (bounds: SigningBounds): Promise<{ readonly signature: string }> =>
        runActivity(() =>
          createSignerActivities({ keys: { hot: signer }, bounds, rules: SIGNING_RULES }).signTransaction(
            task,
          ),
        );
      expect((await sign(HOOKS_ALLOWED)).signature).not.toBe('');
      await expect(sign(NO_HOOKS)).rejects.toMatchObject({ code: 'SigningRefused' });
    },
  );

  it('is held, not rejected, while the signer policy forbids the hook accounts', async () => {
    const row = withdrawalRow(await mintWithHook(1, hookList([fixedAccount(newAddress())])));
    expect(await compose(row, composerWith({ transferHook: 'allow' }, NO_HOOKS))).toMatchObject({
      kind: 'held',
      reason: {
        code: 'cannot_prepare',
        message: expect.stringContaining('the transfer names extra accounts'),
      },
    });
    expect((await compose(row)).kind).toBe('composed');
  });

  it('is retried when the hook refuses, whatever the error code, because the issuer can change the hook', async () => {
    const mint = await mintWithHook(2, hookList([fixedAccount(newAddress())]));
    await expect(compose(withdrawalRow(mint))).rejects.toMatchObject(HOOK_REFUSES);
  });

  it('is simulated for each transfer, because an earlier success of the hook proves nothing about the next one', async () => {
    const program = plantHookProgram(localnet, 1);
    const mint = await hookedMint(localnet, program);
    await localnet.mintTo(mint, HOT, 1_000_000n);
    const composer = composerWith();
    plantHookList(localnet, mint, program, hookList([fixedAccount(newAddress())]));
    expect((await compose(withdrawalRow(mint), composer)).kind).toBe('composed');
    plantHookList(
      localnet,
      mint,
      program,
      hookList([fixedAccount(newAddress()), fixedAccount(newAddress())]),
    );
    await expect(compose(withdrawalRow(mint), composer)).rejects.toMatchObject(HOOK_REFUSES);
  });

  const good = hookList([fixedAccount(newAddress())]);
  it.each([
    ['of another instruction', Buffer.concat([Buffer.alloc(8, 1), good.subarray(8)])],
    ['cut off', good.subarray(0, -1)],
    ['too short for a head', good.subarray(0, 15)],
    ['with seeds of no known kind', hookList([{ kind: 1, config: Uint8Array.of(99) }])],
    [
      'with data of an account that is not there',
      hookList([{ kind: 1, config: Uint8Array.of(4, 5, 0, 32) }]),
    ],
    ['with a second signer', hookList([{ ...fixedAccount(newAddress()), signer: true }])],
  ])(
    'is held when the account list of the hook is %s, because the issuer can change the list',
    async (_what, list) => {
      expect(await compose(withdrawalRow(await mintWithHook(1, list)))).toMatchObject({
        kind: 'held',
        reason: { code: 'cannot_prepare', message: expect.stringContaining('hook') },
      });
    },
  );

  it('is retried when a node cannot read an account that the list refers to', async () => {
    const config = fixedAccount(localnet.mint.address);
    const ofItsData: ListEntry = { kind: 1, config: Uint8Array.of(4, 5, 4, 32) };
    const terms = withdrawalRow(await mintWithHook(2, hookList([config, ofItsData])));
    expect((await compose(terms)).kind).toBe('composed');
    const deaf = composerWith({ transferHook: 'allow' }, HOOKS_ALLOWED, new DeafChain(pool));
    await expect(compose(terms, deaf)).rejects.toMatchObject({ code: 'NoHealthyNode' });
  });

  it('is rejected as too large for a packet when its hook requires too many accounts', async () => {
    const list = hookList(Array.from({ length: 30 }, () => fixedAccount(newAddress())));
    const terms = withdrawalRow(await mintWithHook(30, list), { memo: 'm'.repeat(200) });
    expect(await compose(terms)).toMatchObject(refusedFor('invalid_request', 'even without its memo'));
  });
});

describe('the composer', () => {
  it('rejects a memo too large for a packet, and names the largest size allowed', async () => {
    const sized = (memo: string) => withdrawalRow('SOL', { memo, amount: 1_000_000n });
    const answer = await compose(sized('é'.repeat(600)));
    expect(answer).toMatchObject(refusedFor('invalid_request', 'its memo has 1200 bytes, but at most'));
    if (answer.kind === 'composed') throw new Error('it was composed');
    const maxBytes = Number(/at most ([0-9]+) fit/.exec(answer.reason.message)?.[1]);
    expect((await compose(sized('m'.repeat(maxBytes)))).kind).toBe('composed');
    expect((await compose(sized('m'.repeat(maxBytes + 1)))).kind).toBe('rejected');
  });

  it.each([['an address that holds no mint', HOT]])('rejects %s as an asset', async (_what, asset) => {
    expect(await compose(withdrawalRow(asset))).toMatchObject(refusedFor('asset_rejected'));
  });

  it('rejects an amount below the minimum of the chain by its own rule, before any simulation', async () => {
    expect(await compose(withdrawalRow('SOL', { amount: 1n }))).toMatchObject(
      refusedFor('amount_below_minimum'),
    );
  });

  it('rejects wrapped SOL, unless a setting allows it', async () => {
    const wrapped = withdrawalRow(NATIVE_MINT.toBase58());
    expect(await compose(wrapped)).toMatchObject(refusedFor('wrapped_sol'));
    expect(await compose(wrapped, composerWith({ wrappedSol: 'allow' }))).toMatchObject({
      kind: 'awaiting_funds',
    });
  });
});

describe('a hot wallet with too little money', () => {
  const short = (message: string): object => ({
    kind: 'awaiting_funds',
    reason: { code: 'insufficient_funds', message: expect.stringContaining(message) },
  });

  it.each([
    ['a token', () => localnet.mint.address, `needs ${2n ** 60n}`],
    ['SOL', () => 'SOL', `needs ${formatUnits(2n ** 60n, 9)} SOL`],
  ])(
    'delays the payment, and the reason names the balance and the amount needed: %s',
    async (_what, asset, message) => {
      const answer = await compose(withdrawalRow(asset(), { amount: 2n ** 60n }));
      expect(answer).toMatchObject(short(message));
    },
  );

  it('delays the payment, without a guessed compute limit, when only the newest block shows the lack', async () => {
    const held = localnet.controls.chain.vm.balance(HOT);
    await spend(held - 10_000_000n);
    localnet.controls.produceSlots(2);
    const [account] = (await chain.accounts([HOT])).accounts;
    expect(account?.lamports).toBe(held);
    const answer = await compose(withdrawalRow('SOL', { amount: 1_000_000_000n }));
    expect(answer).toMatchObject(
      short(
        'in the newest block, the hot wallet does not have enough funds: instruction 3 (System program) failed',
      ),
    );
  });
});

/** A payment that Sluice did not make. */
async function spend(amount: bigint): Promise<void> {
  const { blockhash } = await chain.latestBlockhash();
  const message = composeTransfer({
    asset: 'SOL',
    amount,
    source: HOT,
    destination: newAddress(),
    memo: null,
    token: null,
    computeUnitLimit: 1_000,
    computeUnitPriceMicroLamports: 0n,
    blockhash,
  });
  const [answer] = await chain.send(assembleTransaction(message, await signer.sign(message)).raw);
  expect(answer).toMatchObject({ error: null });
}
