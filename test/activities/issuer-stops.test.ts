import {
  AccountState,
  createInitializeDefaultAccountStateInstruction,
  createInitializePausableConfigInstruction,
  createPauseInstruction,
  createResumeInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MintExtension } from '../../devkit/localnet/genesis.ts';
import { newWallet, submitSigned } from '../../devkit/localnet/wallet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { DisplayedStatus, Preparation } from '../../src/domain/steps.ts';
import { CANCELLED, type WithdrawalTerms } from '../../src/domain/withdrawal.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { newId, useLedger } from '../ledger/support.ts';
import { terms } from '../ledger/terms.ts';
import { quickPreparation } from '../support/quick-preparation.ts';
import { useHotWallet } from './hot-wallet.ts';

const REQUESTED: DisplayedStatus = { status: 'requested', code: null };
const use = useLedger();
const hot = useHotWallet(2, use);
const issuer = newWallet();

function prepared(of: WithdrawalTerms, shown = REQUESTED, attempt = 1): Promise<Preparation> {
  const run = () => quickPreparation(use.ledger, hot).prepareAttempt({ terms: of, shown });
  return new MockActivityEnvironment({ attempt }).run(run);
}

async function requested(asset: string, destination = newAddress()): Promise<WithdrawalTerms> {
  const wanted = terms(newId(), { asset, destination, acceptEmptyWallet: true, amount: '1000' });
  await use.ledger.withdrawals.reserve(wanted);
  return wanted;
}
const heldFor = (code: string) => ({ kind: 'waiting', status: 'held', reason: { code } });

/** The open alerts about issuers: kind, subject. */
async function alerts(): Promise<readonly string[]> {
  const { rows } = await use.ledger.alerts.list({ open: true, limit: 100 });
  return rows.map(({ kind, subject }) => `${kind} ${subject}`);
}

/** A mint of the faucet's with this extension, of which the hot wallet has some. */
async function mintWith(extension: MintExtension): Promise<string> {
  const mint = await hot.localnet.createToken22Mint({ extensions: [extension] });
  if (extension.type === ExtensionType.DefaultAccountState)
    await hot.localnet.controls.setFrozen(mint, hot.address, false);
  await hot.localnet.mintTo(mint, hot.address, 1_000_000n);
  return mint;
}

const pausable = (): Promise<string> =>
  mintWith({
    type: ExtensionType.PausableConfig,
    initialize: (mint) =>
      createInitializePausableConfigInstruction(mint, issuer.publicKey, TOKEN_2022_PROGRAM_ID),
  });

/** The issuer pauses or resumes the mint; the newest confirmed block shows it, `blocks` later. */
function setPaused(mint: string, paused: boolean, blocks = 4): void {
  const { controls } = hot.localnet;
  const change = paused ? createPauseInstruction : createResumeInstruction;
  submitSigned(controls.chain, [change(new PublicKey(mint), issuer.publicKey)], [issuer]);
  controls.produceSlots(blocks);
}

beforeAll(async () => {
  await hot.localnet.airdrop(issuer.address, 1_000_000_000n);
});

describe("the hot wallet's frozen token account", () => {
  it('holds the withdrawals of that token, with one alert, until the issuer thaws it', async () => {
    const { localnet } = hot;
    const mint = localnet.mint.address;
    const account = deriveAta(hot.address, mint, TOKEN_PROGRAM);
    const [first, second] = [await requested(mint), await requested(mint)];
    await localnet.controls.setFrozen(mint, hot.address, true);
    for (const one of [first, second])
      expect(await prepared(one)).toMatchObject(heldFor('hot_account_frozen'));
    const { status, reason } = await use.ledger.withdrawals.get(first.id);
    expect([status, reason?.message]).toEqual(['held', expect.stringContaining(account)]);
    expect(await alerts()).toEqual([`hot_account_frozen ${mint}`]);

    const shown: DisplayedStatus = { status: 'held', code: 'hot_account_frozen' };
    await expect(prepared(first, shown)).rejects.toMatchObject({ type: 'hot_account_frozen' });
    expect((await prepared(await requested(localnet.feeMint.address))).kind).toBe('prepared');

    await localnet.controls.setFrozen(mint, hot.address, false);
    expect((await prepared(first, shown)).kind).toBe('prepared');
    expect(await alerts()).toEqual([`hot_account_frozen ${mint}`]);
    expect((await prepared(second, shown)).kind).toBe('prepared');
    expect(await alerts()).toEqual([]);
  });

  it('has its alert closed by the last of many withdrawals that end at once', async () => {
    const { controls, mint } = hot.localnet;
    await controls.setFrozen(mint.address, hot.address, true);
    const many = await Promise.all(Array.from({ length: 8 }, () => requested(mint.address)));
    for (const one of many) expect(await prepared(one)).toMatchObject(heldFor('hot_account_frozen'));
    expect(await alerts()).toHaveLength(1);
    await Promise.all(many.map(({ id }) => use.ledger.settlements.cancel(id, CANCELLED)));
    expect(await alerts()).toEqual([]);
    await controls.setFrozen(mint.address, hot.address, false);
  });

  it('rejects no withdrawal when only the newest block shows it, and the next try holds', async () => {
    const { controls, mint } = hot.localnet;
    const waiting = await requested(mint.address);
    controls.queueFrozen(mint.address, hot.address, true);
    controls.produceSlots(2);
    await expect(prepared(waiting)).rejects.toMatchObject({ code: 'NodeFault' });
    controls.produceSlots(2);
    expect(await prepared(waiting)).toMatchObject(heldFor('hot_account_frozen'));
    await controls.setFrozen(mint.address, hot.address, false);
    expect((await prepared(waiting)).kind).toBe('prepared');
    expect(await alerts()).toEqual([]);
  });
});

describe('a paused mint', () => {
  it('holds the withdrawals of the token until the issuer resumes it', async () => {
    const mint = await pausable();
    const waiting = await requested(mint);
    setPaused(mint, true);
    expect(await prepared(waiting)).toMatchObject(heldFor('mint_paused'));
    expect(await alerts()).toEqual([`mint_paused ${mint}`]);
    setPaused(mint, false);
    const shown: DisplayedStatus = { status: 'held', code: 'mint_paused' };
    expect((await prepared(waiting, shown)).kind).toBe('prepared');
    expect(await alerts()).toEqual([]);
  });

  it('rejects no withdrawal when only the newest block shows it', async () => {
    const mint = await pausable();
    const waiting = await requested(mint);
    setPaused(mint, true, 2);
    await expect(prepared(waiting)).rejects.toMatchObject({ code: 'NodeFault' });
    setPaused(mint, false);
    expect((await prepared(waiting)).kind).toBe('prepared');
  });
});

describe('a withdrawal to an account that the issuer must thaw', () => {
  it('is held when its account would start frozen, and when it already did', async () => {
    const { controls } = hot.localnet;
    const mint = await mintWith({
      type: ExtensionType.DefaultAccountState,
      initialize: (key) =>
        createInitializeDefaultAccountStateInstruction(key, AccountState.Frozen, TOKEN_2022_PROGRAM_ID),
    });
    const waiting = await requested(mint);
    expect(await prepared(waiting)).toMatchObject(heldFor('default_frozen'));
    expect(await alerts()).toEqual([`default_frozen ${waiting.id}`]);
    await controls.setFrozen(mint, waiting.destination, false);
    await controls.setFrozen(mint, waiting.destination, true);
    const shown: DisplayedStatus = { status: 'held', code: 'default_frozen' };
    expect(await prepared(waiting, shown)).toMatchObject(heldFor('account_frozen'));
    expect(await alerts()).toEqual([`account_frozen ${waiting.id}`]);
    await controls.setFrozen(mint, waiting.destination, false);
    expect((await prepared(waiting, { ...shown, code: 'account_frozen' })).kind).toBe('prepared');
    expect(await alerts()).toEqual([]);
  });

  it('can be cancelled, which closes its alert and no other', async () => {
    const { controls, mint } = hot.localnet;
    const [waiting, other] = [await requested(mint.address), await requested(mint.address)];
    for (const { destination } of [waiting, other]) await controls.setFrozen(mint.address, destination, true);
    for (const one of [waiting, other]) expect(await prepared(one)).toMatchObject(heldFor('account_frozen'));
    await use.ledger.settlements.cancel(waiting.id, CANCELLED);
    expect(await alerts()).toEqual([`account_frozen ${other.id}`]);
    await use.ledger.settlements.cancel(other.id, CANCELLED);
    expect(await alerts()).toEqual([]);
  });
});

describe('a listed mint', () => {
  const listed = (asset: string, decimals: number) =>
    use.ledger.assets.put({
      asset,
      program: TOKEN_PROGRAM,
      decimals,
      minimumDeposit: 1n,
      depositsOn: true,
      extensions: [],
    });

  it('is paid while it is unchanged since its listing', async () => {
    const mint = hot.localnet.mint.address;
    await listed(mint, 6);
    expect((await prepared(await requested(mint))).kind).toBe('prepared');
  });

  it('is neither paid nor rejected once it was closed, or created again with other decimals', async () => {
    const [other, closed] = [await hot.localnet.createToken22Mint(), newAddress()];
    for (const mint of [other, closed]) {
      await listed(mint, 6);
      const waiting = await requested(mint);
      expect(await prepared(waiting)).toMatchObject(heldFor('mint_changed'));
      expect(await alerts()).toEqual([`mint_changed ${mint}`]);
      const shown: DisplayedStatus = { status: 'held', code: 'mint_changed' };
      await expect(prepared(waiting, shown)).rejects.toMatchObject({ type: 'mint_changed' });
      await use.ledger.settlements.cancel(waiting.id, CANCELLED);
      expect(await alerts()).toEqual([]);
    }
  });
});
