import {
  getAssociatedTokenAddressSync,
  getMint,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readTokenAccount } from '../../devkit/localnet/chain/tokens.ts';
import type { Fault } from '../../devkit/localnet/faults.ts';
import { Bench, someone } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.localnet.controls.clearFaults());
afterAll(() => bench.localnet.close());

const lie = (method: string, fault: Fault) => bench.localnet.controls.setFault(1, method, fault);
const faultsMet = (kind: Fault['kind']) => bench.localnet.controls.faultsMet(1)[kind] ?? 0;
const accountInfo = (address: PublicKey, node = 1) => bench.node(node).getAccountInfo(address, 'finalized');
const associated = (mint: PublicKey, owner: PublicKey, program = TOKEN_PROGRAM_ID) =>
  getAssociatedTokenAddressSync(mint, owner, true, program);

describe('a node with false accounts', () => {
  it('returns wrong decimals of one mint, and true answers for everything else', async () => {
    const mint = new PublicKey(bench.localnet.mint.address);
    lie('getAccountInfo', { kind: 'false-account', lie: 'decimals' });
    expect((await getMint(bench.node(1), mint)).decimals).toBe(9);
    expect((await getMint(bench.node(0), mint)).decimals).toBe(6);
    const before = faultsMet('false-account');
    expect(await accountInfo(bench.payer.publicKey)).toEqual(await accountInfo(bench.payer.publicKey, 0));
    expect(faultsMet('false-account')).toBe(before);
  });

  it('hides token accounts, or returns a wrong owner or a wrong program', async () => {
    const account = associated(new PublicKey(bench.localnet.mint.address), bench.payer.publicKey);
    lie('getAccountInfo', { kind: 'false-account', lie: 'no-token-account' });
    expect(await accountInfo(account)).toBeNull();
    bench.localnet.controls.clearFaults();
    lie('getAccountInfo', { kind: 'false-account', lie: 'token-owner' });
    const taken = await accountInfo(account);
    expect(new PublicKey(taken?.data.subarray(32, 64) ?? []).toBase58()).toBe('1'.repeat(32));
    bench.localnet.controls.clearFaults();
    lie('getAccountInfo', { kind: 'false-account', lie: 'program-owner' });
    for (const address of [account, bench.payer.publicKey])
      expect((await accountInfo(address))?.owner).not.toEqual((await accountInfo(address, 0))?.owner);
  });

  it('returns token accounts that do not exist', async () => {
    const mint = bench.localnet.feeMint.address;
    const owner = someone();
    const holders = [{ owner: owner.toBase58(), mint }];
    lie('getAccountInfo', { kind: 'false-account', lie: 'made-token-account', holders });
    const made = await accountInfo(associated(new PublicKey(mint), owner, TOKEN_2022_PROGRAM_ID));
    const program = made?.owner.toBase58() ?? '';
    const state = { lamports: 0n, executable: false, rentEpoch: 0n, data: made?.data ?? Buffer.alloc(0) };
    expect(readTokenAccount({ ...state, owner: program })).toMatchObject({
      mint,
      owner: owner.toBase58(),
      state: 'initialized',
    });
    expect(await accountInfo(associated(new PublicKey(mint), someone(), TOKEN_2022_PROGRAM_ID))).toBeNull();
  });
});

it('a node returns its own prices and compute units', async () => {
  lie('getRecentPrioritizationFees', { kind: 'false-price', microLamports: 5_000_000 });
  lie('simulateTransaction', { kind: 'false-units', units: 1 });
  const fees = await bench.node(1).getRecentPrioritizationFees();
  expect(new Set(fees.map(({ prioritizationFee }) => prioritizationFee))).toEqual(new Set([5_000_000]));
  const { raw } = await bench.sign(bench.pay(someone(), 1_000_000));
  const params = [raw.toString('base64'), { encoding: 'base64', commitment: 'processed' }];
  const value = { err: null, unitsConsumed: 1 };
  expect(await bench.ask(1, 'simulateTransaction', params)).toMatchObject({ result: { value } });
  expect(await bench.ask(0, 'simulateTransaction', params)).toMatchObject({
    result: { value: { unitsConsumed: 150 } },
  });
  expect([faultsMet('false-price'), faultsMet('false-units')]).toEqual([1, 1]);
});

describe('a node with false statuses', () => {
  it('reports a missing transaction as confirmed, finalized or failed, and landed transactions truly', async () => {
    const { controls } = bench.localnet;
    const landed = await bench.land(someone());
    controls.setFault(0, 'sendTransaction', { kind: 'drop-send' });
    const dropped = await bench.sign(bench.pay(someone(), 1_000_000));
    await bench.send(dropped);
    controls.produceSlots(6);
    for (const [falseStatus, status, failed] of [
      ['confirmed', 'confirmed', false],
      ['finalized', 'finalized', false],
      ['failed', 'finalized', true],
    ] as const) {
      controls.clearFaults(1);
      lie('getSignatureStatuses', { kind: 'false-status', lie: falseStatus });
      const { value } = await bench
        .node(1)
        .getSignatureStatuses([dropped.signature, landed.signature], { searchTransactionHistory: true });
      expect(value.map((one) => [one?.confirmationStatus, one?.err !== null])).toEqual([
        [status, failed],
        ['finalized', false],
      ]);
    }
    expect(await bench.status(dropped.signature)).toBeNull();
    expect(faultsMet('false-status')).toBe(3);
  });

  it('reports a confirmed transaction as finalized or failed', async () => {
    const { signature } = await bench.land(someone());
    const said: unknown[] = [];
    for (const falseStatus of ['finalized', 'failed'] as const) {
      bench.localnet.controls.clearFaults(1);
      lie('getSignatureStatuses', { kind: 'false-status', lie: falseStatus });
      const { value } = await bench.node(1).getSignatureStatuses([signature]);
      said.push([value[0]?.confirmationStatus, value[0]?.err]);
    }
    expect(said).toEqual([
      ['finalized', null],
      ['finalized', { InstructionError: [2, { Custom: 1 }] }],
    ]);
  });

  it('lists the false transaction for every address that it names', async () => {
    const { controls } = bench.localnet;
    controls.setFault(0, 'sendTransaction', { kind: 'drop-send' });
    const to = someone();
    const dropped = await bench.sign(bench.pay(to, 1_000_000));
    await bench.send(dropped);
    expect(controls.chain.inFlight(to.toBase58())).toBe(1);
    controls.produceSlots(200);
    expect(controls.chain.inFlight(to.toBase58())).toBe(0);
    lie('getSignaturesForAddress', { kind: 'false-history' });
    const listed = async (node: number) =>
      (await bench.node(node).getSignaturesForAddress(to, {}, 'finalized')).map(({ signature }) => signature);
    expect([await listed(0), await listed(1)]).toEqual([[], [dropped.signature]]);
    expect(faultsMet('false-history')).toBe(1);
  });
});

it('an issuer pauses a mint and resumes it', async () => {
  const { controls, mintTo } = bench.localnet;
  const mint = controls.queuePausableMint();
  controls.produceSlots(6);
  await mintTo(mint, someone().toBase58(), 5n);
  controls.queuePaused(mint, true);
  controls.produceSlot();
  await expect(mintTo(mint, someone().toBase58(), 5n)).rejects.toThrow('Custom":67');
  controls.queuePaused(mint, false);
  controls.produceSlot();
  await mintTo(mint, someone().toBase58(), 5n);
});
