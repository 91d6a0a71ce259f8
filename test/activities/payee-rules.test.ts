import { base64 } from '@scure/base';
import {
  createEnableRequiredMemoTransfersInstruction,
  createInitializePausableConfigInstruction,
  createPauseInstruction,
  createReallocateInstruction,
  createResumeInstruction,
  ExtensionType,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey, type TransactionInstruction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newWallet, submitSigned, type Wallet } from '../../devkit/localnet/wallet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Composition } from '../../src/settlement/kind.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM } from '../../src/solana/tx/programs.ts';
import { useLedger } from '../ledger/support.ts';
import {
  type CompositionFixture,
  FIRST_ATTEMPT,
  openCompositionFixture,
  withdrawalRow,
} from './composition-fixture.ts';

const use = useLedger();
let fixture: CompositionFixture;

beforeAll(async () => {
  fixture = await openCompositionFixture();
});
afterAll(() => fixture?.close());

/** Lands instructions that a wallet signs and pays for. */
async function lands(wallet: Wallet, ...instructions: TransactionInstruction[]): Promise<void> {
  const { chain } = fixture.localnet.controls;
  const signature = submitSigned(chain, instructions, [wallet]);
  fixture.localnet.controls.produceSlots(4);
  expect(chain.ledger.record(signature)?.meta.err).toBeNull();
}

function memosOf(answer: Composition): readonly string[] {
  if (answer.kind !== 'composed') throw new Error(answer.reason.message);
  const { instructions } = decodeMessage(base64.decode(answer.attempt.message));
  return instructions
    .filter(({ program }) => program === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString('utf8'));
}

describe('a token account that requires a memo', () => {
  it('gets the withdrawal id as memo, or the memo of the customer', async () => {
    const { localnet } = fixture;
    const mint = localnet.feeMint.address;
    const owner = newWallet();
    await localnet.airdrop(owner.address, 1_000_000_000n);
    await localnet.mintTo(mint, owner.address, 1n);
    const row = withdrawalRow(mint, { destination: owner.address, id: 'order-17' });
    expect(memosOf(await fixture.composer().compose(row, FIRST_ATTEMPT))).toEqual([]);

    const account = new PublicKey(deriveAta(owner.address, mint, TOKEN_2022_PROGRAM));
    await lands(
      owner,
      createReallocateInstruction(account, owner.publicKey, [ExtensionType.MemoTransfer], owner.publicKey),
      createEnableRequiredMemoTransfersInstruction(account, owner.publicKey),
    );
    expect(memosOf(await fixture.composer().compose(row, FIRST_ATTEMPT))).toEqual(['order-17']);
    const worded = { ...row, memo: 'invoice 4' };
    expect(memosOf(await fixture.composer().compose(worded, FIRST_ATTEMPT))).toEqual(['invoice 4']);
  });
});

describe('a paused mint', () => {
  it('is not paid until the issuer resumes it', async () => {
    const issuer = newWallet();
    await fixture.localnet.airdrop(issuer.address, 1_000_000_000n);
    const initialize = (mint: PublicKey) =>
      createInitializePausableConfigInstruction(mint, issuer.publicKey, TOKEN_2022_PROGRAM_ID);
    const mint = await fixture.localnet.createToken22Mint({
      extensions: [{ type: ExtensionType.PausableConfig, initialize }],
    });
    await fixture.localnet.mintTo(mint, fixture.hotWallet, 1_000_000n);
    const outcome = () => fixture.composer().compose(withdrawalRow(mint), FIRST_ATTEMPT);
    expect(await outcome()).toMatchObject({ kind: 'composed' });

    await lands(issuer, createPauseInstruction(new PublicKey(mint), issuer.publicKey));
    expect(await outcome()).toMatchObject({ kind: 'held', reason: { code: 'mint_paused' } });

    await lands(issuer, createResumeInstruction(new PublicKey(mint), issuer.publicKey));
    expect(await outcome()).toMatchObject({ kind: 'composed' });
  });
});

describe('a wallet that is in use', () => {
  it('is paid at once, but waits for the customer when confirmUsedWallet is on', async () => {
    const destination = newAddress();
    await fixture.localnet.airdrop(destination, 5_000_000n);
    const row = withdrawalRow('SOL', { destination, amount: 1_000_000n });
    expect(await fixture.composer().compose(row, FIRST_ATTEMPT)).toMatchObject({ kind: 'composed' });

    const careful = fixture.composer({ confirmUsedWallet: true });
    expect(await careful.compose(row, FIRST_ATTEMPT)).toMatchObject({
      kind: 'awaiting_confirmation',
      reason: { code: 'used_wallet' },
    });
    const confirmed = { ...row, confirmedByCustomer: true };
    expect(await careful.compose(confirmed, FIRST_ATTEMPT)).toMatchObject({ kind: 'composed' });
  });
});

describe('a multisig vault', () => {
  const vaultOf = (seed: string) =>
    PublicKey.findProgramAddressSync([Buffer.from(seed)], new PublicKey(TOKEN_2022_PROGRAM))[0].toBase58();

  it('is paid in SOL and tokens once the customer confirms, when the setting allows vaults', async () => {
    const { localnet } = fixture;
    const destination = vaultOf('vault');
    await localnet.airdrop(destination, 5_000_000_000n);
    const allowing = fixture.composer({ allowVaults: true });
    for (const asset of ['SOL', localnet.mint.address, localnet.feeMint.address]) {
      const row = withdrawalRow(asset, { destination, amount: 1_000_000n });
      const rejected = { kind: 'rejected', reason: { code: 'pda' } };
      expect(await fixture.composer().compose(row, FIRST_ATTEMPT)).toMatchObject(rejected);
      const waiting = { kind: 'awaiting_confirmation', reason: { code: 'vault' } };
      expect(await allowing.compose(row, FIRST_ATTEMPT)).toMatchObject(waiting);
      const confirmed = { ...row, confirmedByCustomer: true };
      expect(await allowing.compose(confirmed, FIRST_ATTEMPT)).toMatchObject({ kind: 'composed' });
    }
  });

  it('is rejected when it holds nothing, whatever the setting', async () => {
    const row = withdrawalRow('SOL', { destination: vaultOf('missing'), confirmedByCustomer: true });
    expect(await fixture.composer({ allowVaults: true }).compose(row, FIRST_ATTEMPT)).toMatchObject({
      kind: 'rejected',
      reason: { code: 'off_curve' },
    });
  });
});

describe('a deposit address of Sluice', () => {
  it('is never paid, assigned or not, in SOL or a token, because its user would not be credited', async () => {
    const { ledger } = use;
    const [free, given] = [newAddress(), newAddress()];
    const composer = fixture.composer({ kindOf: (address) => ledger.walletHistory.kindOf(address) });
    const answers = async (destination: string) =>
      Promise.all(
        ['SOL', fixture.localnet.mint.address].map(async (asset) => {
          await fixture.localnet.airdrop(destination, 1_000_000_000n);
          const answer = await composer.compose(
            withdrawalRow(asset, { destination, amount: 5_000_000n }),
            FIRST_ATTEMPT,
          );
          return answer.kind === 'composed' ? answer.kind : [answer.kind, answer.reason.code];
        }),
      );
    expect(await answers(given)).toEqual(['composed', 'composed']);
    await ledger.addresses.import([given, free].map((address, index) => ({ address, path: `m/${index}` })));
    for (const address of [given, free])
      expect(await answers(address)).toEqual(Array(2).fill(['rejected', 'deposit_address']));
  });
});
