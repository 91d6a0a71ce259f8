import {
  createInitializeNonTransferableMintInstruction,
  createInitializePermanentDelegateInstruction,
  createInitializeTransferHookInstruction,
  ExtensionType,
  NATIVE_MINT,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import type { NewAsset } from '../../../src/ledger/deposits/assets.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { DepositsApi } from '../deposits-fixture.ts';

const SOL = {
  asset: 'SOL',
  program: null,
  decimals: 9,
  extensions: [],
  freezeAuthority: null,
  permanentDelegate: null,
  minimumDeposit: '890880',
  depositsOn: true,
  warnings: [],
};

let api: DepositsApi;
beforeAll(async () => {
  api = await DepositsApi.open();
});
afterEach(() => api.localnet.controls.clearFaults());
afterAll(() => api?.close());

const put = (asset: string, change: object = {}) => api.call('PUT', `/v1/assets/${asset}`, change);
const accountFor = (asset: string) =>
  api.call('GET', `/v1/deposit-addresses/${api.keys.entry(0).address}/assets/${asset}`);
const get = (asset: string) => api.call('GET', `/v1/assets/${asset}`);
async function storedTerms(asset: string): Promise<NewAsset> {
  const row = await api.ledger.assets.get(asset);
  if (row === undefined) throw new Error(`${asset} is not listed`);
  const { createdAt: _created, updatedAt: _updated, ...terms } = row;
  return terms;
}
const nonTransferable = () =>
  api.localnet.createToken22Mint({
    extensions: [
      {
        type: ExtensionType.NonTransferable,
        initialize: (mint: PublicKey) =>
          createInitializeNonTransferableMintInstruction(mint, new PublicKey(TOKEN_2022_PROGRAM)),
      },
    ],
  });

test('SOL is listed by default, with the minimum balance that the chain demands of an account', async () => {
  expect((await api.call('GET', '/v1/assets')).body).toEqual({ assets: [SOL] });
  expect((await get('SOL')).body).toEqual(SOL);
});

test('SOL accepts no minimum below that of the chain, and keeps the minimum that it has', async () => {
  const { status, body } = await put('SOL', { minimumDeposit: '890879' });
  expect([status, body.code, body.field]).toEqual([409, 'AssetRejected', 'minimumDeposit']);
  expect((await put('SOL', { minimumDeposit: '1000000' })).body).toEqual({
    ...SOL,
    minimumDeposit: '1000000',
  });
  expect((await put('SOL', { depositsOn: false })).body).toEqual({
    ...SOL,
    minimumDeposit: '1000000',
    depositsOn: false,
  });
  expect((await api.call('GET', '/v1/assets')).body.assets).toHaveLength(1);
});

test('the API lists a mint with its data from the chain', async () => {
  const { mint, feeMint, controls } = api.localnet;
  const freezes = {
    code: 'freeze_authority',
    message: `the freeze authority of the token can freeze the token account of any holder: ${controls.authority}`,
  };
  expect((await get(mint.address)).status).toBe(404);
  expect((await put(mint.address)).body).toEqual({
    asset: mint.address,
    program: TOKEN_PROGRAM,
    decimals: mint.decimals,
    extensions: [],
    freezeAuthority: controls.authority,
    permanentDelegate: null,
    minimumDeposit: '1',
    depositsOn: true,
    warnings: [freezes],
  });
  const listed = await put(feeMint.address, { minimumDeposit: '18446744073709551615' });
  expect(listed.body).toMatchObject({
    program: TOKEN_2022_PROGRAM,
    extensions: ['transferFeeConfig'],
    minimumDeposit: '18446744073709551615',
    warnings: [
      {
        code: 'extension_transferFeeConfig',
        message:
          'the token has the extension transferFeeConfig: a part of every transfer is withheld as a fee',
      },
      freezes,
    ],
  });
  expect((await get(feeMint.address)).body).toEqual(listed.body);
});

test('the API lists a mint with the permanent delegate, until the delegate is removed', async () => {
  const delegate = newAddress();
  const mint = await api.localnet.createToken22Mint({
    extensions: [
      {
        type: ExtensionType.PermanentDelegate,
        initialize: (key) =>
          createInitializePermanentDelegateInstruction(key, new PublicKey(delegate), TOKEN_2022_PROGRAM_ID),
      },
    ],
  });
  const { authority } = api.localnet.controls;
  const listed = await put(mint);
  expect(listed.body).toMatchObject({ freezeAuthority: authority, permanentDelegate: delegate });
  expect(listed.body.warnings).toEqual([
    { code: 'extension_permanentDelegate', message: expect.stringContaining(delegate) },
    { code: 'freeze_authority', message: expect.stringContaining(authority) },
  ]);
  expect((await get(mint)).body).toEqual(listed.body);
  const unfreezable = await api.ledger.assets.put({ ...(await storedTerms(mint)), freezeAuthority: null });
  expect(unfreezable.freezeAuthority).toBeNull();
  expect((await get(mint)).body.warnings).toHaveLength(1);
  expect((await put(mint)).body).toEqual(listed.body);
});

test('a mint with a transfer hook and without withdrawals accepts deposits only if the operator allows it', async () => {
  const program = newAddress();
  const mint = await api.localnet.createToken22Mint({
    extensions: [
      {
        type: ExtensionType.TransferHook,
        initialize: (key) =>
          createInitializeTransferHookInstruction(
            key,
            new PublicKey(newAddress()),
            new PublicKey(program),
            TOKEN_2022_PROGRAM_ID,
          ),
      },
    ],
  });
  const { status, body } = await put(mint);
  expect([status, body.code, body.field]).toEqual([409, 'AssetRejected', 'depositsOn']);
  expect(body.detail).toContain(program);
  expect((await get(mint)).status).toBe(404);
  expect((await put(mint, { depositsOn: false })).body).toMatchObject({ depositsOn: false });
  expect((await put(mint, { depositsOn: true })).status).toBe(409);
  const accepted = await put(mint, { depositsOn: true, acceptTransferHook: true });
  expect(accepted.body).toMatchObject({ depositsOn: true });
});

test('wrapped SOL is a separate asset', async () => {
  expect((await put(NATIVE_MINT.toBase58())).body).toMatchObject({
    program: TOKEN_PROGRAM,
    decimals: 9,
    freezeAuthority: null,
    warnings: [],
  });
});

test('concurrent changes of two operators both apply, and all other fields stay', async () => {
  const asset = api.localnet.mint.address;
  for (let n = 0; n < 10; n += 1) {
    await put(asset, { depositsOn: true, minimumDeposit: '1' });
    const minimumDeposit = `${n + 2}`;
    await Promise.all([put(asset, { depositsOn: false }), put(asset, { minimumDeposit })]);
    const { body } = await api.call('GET', `/v1/assets/${asset}`);
    expect(body).toMatchObject({ depositsOn: false, minimumDeposit });
  }
});

test('the API refuses an address that is not a mint, and names the field', async () => {
  for (const asset of [api.localnet.controls.authority, api.keys.entry(0).address]) {
    const { status, body } = await put(asset);
    expect([status, body.code, body.field]).toEqual([409, 'AssetRejected', 'mint']);
    expect((await get(asset)).status).toBe(404);
  }
});

test.each(['USDC', '%00', `${NATIVE_MINT.toBase58()}%00`])(
  'the API names the field for %s, which is not an asset',
  async (asset) => {
    for (const answer of [await get(asset), await put(asset), await accountFor(asset)])
      expect([answer.status, answer.body.field]).toEqual([400, 'mint']);
  },
);

test('the API lists a mint that cannot be transferred only with deposits off', async () => {
  const mint = await nonTransferable();
  const { status, body } = await put(mint);
  expect([status, body.field]).toEqual([409, 'depositsOn']);
  expect(body.detail).toContain('nonTransferable');
  expect((await put(mint, { depositsOn: false })).body).toMatchObject({ depositsOn: false });
  expect((await put(mint, { depositsOn: true })).status).toBe(409);
  const daring = await api.also({ chain: api.chain, tokenPolicy: { nonTransferable: 'allow' } });
  const answer = await api.call('PUT', `/v1/assets/${mint}`, { depositsOn: true }, daring);
  expect(answer.body).toMatchObject({ depositsOn: true });
});

test('the API does not accept a mint on the answer of one lying node', async () => {
  const { address } = api.localnet.plantedMint;
  const nothing = { context: { slot: 1 }, value: [null] };
  api.localnet.controls.setFault(0, 'getMultipleAccounts', { kind: 'result', result: nothing });
  expect((await put(address)).body).toMatchObject({ status: 503, code: 'NoHealthyNode' });
  api.localnet.controls.clearFaults();
  expect((await put(address)).status).toBe(200);
});

test.each([
  [{ minimumDeposit: '0' }, 'minimumDeposit'],
  [{ minimumDeposit: '1.5' }, 'minimumDeposit'],
  [{ minimumDeposit: '18446744073709551616' }, 'minimumDeposit'],
  [{ minimumDeposit: 5 }, 'minimumDeposit'],
  [{ depositsOn: 'yes' }, 'depositsOn'],
  [{ decimals: 2 }, 'decimals'],
])('the API names the field of a bad change: %j', async (change, field) => {
  const { status, body } = await put(api.localnet.mint.address, change);
  expect([status, body.field]).toEqual([400, field]);
});
