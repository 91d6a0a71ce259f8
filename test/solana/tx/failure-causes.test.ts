import { base64 } from '@scure/base';
import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createEnableRequiredMemoTransfersInstruction,
  createInitializeNonTransferableMintInstruction,
  createInitializePausableConfigInstruction,
  createPauseInstruction,
  createReallocateInstruction,
  createSetAuthorityInstruction,
  ExtensionType,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeTransaction } from '../../../devkit/localnet/encoding/wire.ts';
import type { MintExtension } from '../../../devkit/localnet/genesis.ts';
import { newWallet, submitSigned } from '../../../devkit/localnet/wallet.ts';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { NONCE_ACCOUNT_SIZE } from '../../../src/solana/nonces/account.ts';
import { composeUpkeep } from '../../../src/solana/nonces/upkeep.ts';
import { deriveAta } from '../../../src/solana/tokens/ata.ts';
import { resolveHookAccounts } from '../../../src/solana/tokens/hooks.ts';
import { readMint } from '../../../src/solana/tokens/mint.ts';
import { readTransactionError, recordedError } from '../../../src/solana/tx/error.ts';
import {
  canSucceedLater,
  describeFailure,
  type FailureKind,
  failureKind,
  mayLackUnits,
} from '../../../src/solana/tx/failure-causes.ts';
import {
  ATA_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../../src/solana/tx/programs.ts';
import { assembleTransaction, composeTransfer, type TransferSpec } from '../../../src/solana/tx/transfer.ts';
import {
  fixedAccount,
  hookedMint,
  hookList,
  plantHookList,
  plantHookProgram,
} from '../../activities/hook-program.ts';
import { useLandingFixture } from '../landing-fixture.ts';

const TOKEN_2022 = new PublicKey(TOKEN_2022_PROGRAM);
const issuer = newWallet();
const receiver = newWallet();
const fixture = useLandingFixture();

beforeAll(async () => {
  for (const { address } of [issuer, receiver]) await fixture.localnet.airdrop(address, 5_000_000_000n);
});

const chainOf = () => fixture.localnet.controls.chain;
const tipHash = () => chainOf().ledger.tip.blockhash;
const hot = () => fixture.signer.address;

/** Puts the message into a block, signed by the hot wallet, and reads how it failed there. */
async function failed(message: Uint8Array) {
  const { raw, signature } = assembleTransaction(message, await fixture.signer.sign(message));
  chainOf().submit(decodeTransaction(base64.decode(raw)));
  fixture.localnet.controls.produceSlots(6);
  const meta = chainOf().ledger.record(signature)?.meta;
  const error = readTransactionError(meta?.err);
  if (meta === undefined || error === null) throw new Error('no block holds it, or it has not failed');
  return { error, logs: meta.logs ?? [], message };
}

type Changes = Partial<TransferSpec>;

function transfer(changes: Changes = {}): Promise<Awaited<ReturnType<typeof failed>>> {
  const spec: TransferSpec = {
    asset: 'SOL',
    amount: 1_000n,
    source: hot(),
    destination: newAddress(),
    memo: null,
    token: null,
    computeUnitLimit: 200_000,
    computeUnitPriceMicroLamports: 0n,
    blockhash: tipHash(),
    ...changes,
  };
  return failed(composeTransfer(spec));
}

/** A transfer of tokens to a wallet whose account it makes, unless `token` says otherwise. */
function tokens(
  mint: string,
  token: Partial<NonNullable<TransferSpec['token']>> = {},
  changes: Changes = {},
) {
  const program = chainOf().vm.account(mint)?.owner ?? '';
  const whole = {
    mint,
    program,
    decimals: 6,
    createAta: true,
    expectedFee: null,
    hookAccounts: [],
    ...token,
  };
  return transfer({ asset: mint, token: whole, ...changes });
}

async function mintWith(...extensions: MintExtension[]): Promise<string> {
  const mint = await fixture.localnet.createToken22Mint({ extensions });
  await fixture.localnet.mintTo(mint, hot(), 1_000_000n);
  return mint;
}

function pausable(): Promise<string> {
  return mintWith({
    type: ExtensionType.PausableConfig,
    initialize: (mint) => createInitializePausableConfigInstruction(mint, issuer.publicKey, TOKEN_2022),
  });
}

async function paused(): Promise<string> {
  const mint = await pausable();
  submitSigned(chainOf(), [createPauseInstruction(new PublicKey(mint), issuer.publicKey)], [issuer]);
  fixture.localnet.controls.produceSlot();
  return mint;
}

/** The token account of the receiver for the mint, created by the receiver. */
function opened(mint: string) {
  const program = new PublicKey(chainOf().vm.account(mint)?.owner ?? '');
  const account = new PublicKey(deriveAta(receiver.address, mint, program.toBase58()));
  const open = createAssociatedTokenAccountIdempotentInstruction(
    receiver.publicKey,
    account,
    receiver.publicKey,
    new PublicKey(mint),
    program,
  );
  return { account, open };
}

function byReceiver(...instructions: Parameters<typeof submitSigned>[1]): void {
  const signature = submitSigned(chainOf(), instructions, [receiver]);
  fixture.localnet.controls.produceSlot();
  expect(chainOf().ledger.record(signature)?.meta.err).toBeNull();
}

/** The extension of an account that accepts confidential transfers only: an extension without any allowance. */
function confidentialOnly(account: PublicKey): void {
  const stored = chainOf().vm.account(account.toBase58());
  if (stored === null) throw new Error('the account is made before');
  const data = Buffer.alloc(170 + 295);
  data.set(stored.data.subarray(0, 165));
  data.writeUInt8(2, 165);
  data.writeUInt16LE(ExtensionType.ConfidentialTransferAccount, 166);
  data.writeUInt16LE(295, 168);
  chainOf().vm.setAccount(account.toBase58(), { ...stored, data, lamports: 1_000_000_000n });
}

async function hooked(): Promise<string> {
  const program = plantHookProgram(fixture.localnet, 2);
  const mint = await hookedMint(fixture.localnet, program);
  await fixture.localnet.mintTo(mint, hot(), 1_000_000n);
  plantHookList(fixture.localnet, mint, program, hookList([fixedAccount(SYSTEM_PROGRAM)]));
  return mint;
}

type CauseRow = readonly [
  what: string,
  kind: FailureKind,
  text: string,
  fail: () => ReturnType<typeof failed>,
];

const ROWS: readonly CauseRow[] = [
  [
    "the issuer has frozen the wallet's account",
    'passing',
    '"Custom":17',
    async () => {
      const mint = await mintWith();
      await fixture.localnet.controls.setFrozen(mint, hot(), true);
      return tokens(mint);
    },
  ],
  ['the issuer has paused the mint', 'passing', '"Custom":67', async () => tokens(await paused())],
  [
    'the transfer fee has changed',
    'passing',
    '"Custom":32',
    () => tokens(fixture.localnet.feeMint.address, { expectedFee: 3n }),
  ],
  [
    'the wallet lacks tokens',
    'short',
    '"Custom":1',
    async () => tokens(await mintWith(), {}, { amount: 10n ** 7n }),
  ],
  ['the wallet lacks SOL', 'short', '"Custom":1', () => transfer({ amount: 10n ** 15n })],
  [
    "the receiver's account is closed",
    'passing',
    '"InvalidAccountData"',
    () => tokens(fixture.localnet.mint.address, { createAta: false }),
  ],
  [
    "the receiver's account of Token-2022 is closed",
    'passing',
    '"IncorrectProgramId"',
    () => tokens(fixture.localnet.feeMint.address, { createAta: false, expectedFee: 10n }),
  ],
  [
    'the account that it makes has another owner',
    'passing',
    'InstructionError',
    async () => {
      const mint = fixture.localnet.mint.address;
      const { account, open } = opened(mint);
      const give = createSetAuthorityInstruction(
        account,
        receiver.publicKey,
        AuthorityType.AccountOwner,
        issuer.publicKey,
      );
      byReceiver(open, give);
      return tokens(mint, {}, { destination: receiver.address });
    },
  ],
  [
    'the receiver requires a memo',
    'passing',
    '"Custom":36',
    async () => {
      const mint = await mintWith();
      const { account, open } = opened(mint);
      const room4memo = createReallocateInstruction(
        account,
        receiver.publicKey,
        [ExtensionType.MemoTransfer],
        receiver.publicKey,
        [],
        TOKEN_2022,
      );
      const require = createEnableRequiredMemoTransfersInstruction(
        account,
        receiver.publicKey,
        [],
        TOKEN_2022,
      );
      byReceiver(open, room4memo, require);
      return tokens(mint, { createAta: false }, { destination: receiver.address });
    },
  ],
  [
    'the receiver takes confidential transfers only',
    'passing',
    '"Custom":49',
    async () => {
      const mint = await mintWith();
      const { account, open } = opened(mint);
      byReceiver(open);
      confidentialOnly(account);
      return tokens(mint, { createAta: false }, { destination: receiver.address });
    },
  ],
  [
    'the mint has other decimals',
    'passing',
    '"Custom":18',
    () => tokens(fixture.localnet.mint.address, { decimals: 9 }),
  ],
  [
    'a program gets too few compute units',
    'passing',
    '',
    () => tokens(fixture.localnet.mint.address, {}, { computeUnitLimit: 5_000 }),
  ],
  [
    'the fee payer would keep too little',
    'short',
    '"InsufficientFundsForRent":{"account_index":0}',
    async () => transfer({ amount: (await fixture.lamportsOf(hot())) - 5_100n }),
  ],
  [
    'the receiver would have too little',
    'passing',
    '"InsufficientFundsForRent":{"account_index":1}',
    () => transfer({ amount: 1n }),
  ],
  [
    'the account that it makes is there already',
    'passing',
    '"Custom":0',
    async () => {
      const rentLamports = await fixture.chain.rentMinimum(NONCE_ACCOUNT_SIZE);
      const limits = { computeUnitLimit: 10_000, computeUnitPriceMicroLamports: 0n };
      const create = () =>
        composeUpkeep({
          kind: 'create',
          wallet: hot(),
          seed: '1',
          rentLamports,
          blockhash: tipHash(),
          ...limits,
        });
      const first = create();
      const { raw } = assembleTransaction(first, await fixture.signer.sign(first));
      chainOf().submit(decodeTransaction(base64.decode(raw)));
      fixture.localnet.controls.produceSlot();
      return failed(create());
    },
  ],
  [
    'a transfer hook refuses it, whatever its code means elsewhere',
    'passing',
    '"Custom":1',
    async () => {
      const mint = await hooked();
      const info = readMint(mint, (await fixture.chain.accounts([mint])).accounts[0] ?? null);
      const destination = newAddress();
      const hookAccounts = await resolveHookAccounts(fixture.chain, info, {
        source: hot(),
        destination,
        amount: 1_000n,
        createAta: true,
      });
      return tokens(mint, { hookAccounts }, { destination });
    },
  ],
  [
    'the token is not transferable',
    'refused',
    '"Custom":37',
    async () => {
      const mint = await mintWith({
        type: ExtensionType.NonTransferable,
        initialize: (key) => createInitializeNonTransferableMintInstruction(key, TOKEN_2022),
      });
      return tokens(mint);
    },
  ],
];

describe('a transaction that fails on the real programs', () => {
  it.each(ROWS)('because %s is %s', async (what, kind, text, fail) => {
    const { error, logs, message } = await fail();
    expect(error.text).toContain(text);
    expect(failureKind(error, logs)).toBe(kind);
    expect(canSucceedLater(recordedError(error.text), message)).toBe(kind !== 'refused');
    expect(describeFailure(error, message)).not.toContain('its custom error');
    expect(mayLackUnits(error)).toBe(what.includes('compute units'));
  });
});

describe('a cause', () => {
  const HOOK = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
  const custom = (code: number): string => `{"InstructionError":[2,{"Custom":${code}}]}`;
  const logsOf = (...programs: string[]): string[] =>
    programs.map((program) => `Program ${program} failed: custom program error: 0x1`);

  it.each([
    ['short', 'AccountNotFound', []],
    ['short', 'InsufficientFundsForFee', []],
    ['short', custom(1), logsOf(SYSTEM_PROGRAM, ATA_PROGRAM)],
    ['short', custom(1), []],
    ['passing', custom(1), logsOf(HOOK, TOKEN_2022_PROGRAM)],
    ['passing', custom(1), logsOf(ATA_PROGRAM)],
    ['passing', custom(37), logsOf(HOOK, TOKEN_2022_PROGRAM)],
    ['passing', custom(37), []],
    ['refused', custom(37), logsOf(TOKEN_2022_PROGRAM)],
    ['passing', custom(77), logsOf(TOKEN_PROGRAM)],
    ['passing', 'AccountInUse', []],
  ] as const)('is %s by the logs of a simulation for %s', (kind, error, logs) => {
    expect(failureKind(recordedError(error), logs)).toBe(kind);
  });
});
