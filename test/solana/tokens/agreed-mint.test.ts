import { Keypair } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { AgreedAccounts } from '../../../src/solana/rpc/agreed-accounts.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { agreedMint } from '../../../src/solana/tokens/agreed-mint.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';

const ACCOUNTS = 'getMultipleAccounts';
const FREEZE_AUTHORITY = 46;
const NOTHING = { kind: 'result', result: { context: { slot: 1 }, value: [null] } } as const;

let localnet: Localnet;
let pool: NodePool;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  pool = await openNodePool(localnet.rpcUrls);
});
afterEach(() => localnet.controls.clearFaults());
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
});

test('an agreed mint has the program, decimals and extensions that the nodes return', async () => {
  const { mint, feeMint } = localnet;
  expect(await agreedMint(pool, mint.address)).toMatchObject({
    program: TOKEN_PROGRAM,
    decimals: mint.decimals,
    extensions: [],
  });
  expect(await agreedMint(pool, feeMint.address)).toMatchObject({
    program: TOKEN_2022_PROGRAM,
    decimals: feeMint.decimals,
    extensions: ['transferFeeConfig'],
  });
});

test('an account that is no mint is refused, with the field', async () => {
  const refused = { code: 'AssetRejected', context: { field: 'mint' } };
  for (const address of [Keypair.generate().publicKey.toBase58(), localnet.controls.authority, 'no-address'])
    await expect(agreedMint(pool, address)).rejects.toMatchObject(refused);
});

test('one node that lies or does not answer changes no mint, and two nodes that differ from the third prove none', async () => {
  const { address } = localnet.mint;
  const { controls } = localnet;
  controls.setFault(0, ACCOUNTS, NOTHING);
  expect(await agreedMint(pool, address)).toMatchObject({ address, program: TOKEN_PROGRAM });
  controls.setFault(1, ACCOUNTS, { kind: 'http', status: 500 });
  await expect(agreedMint(pool, address)).rejects.toMatchObject({ code: 'NoHealthyNode' });
});

test('a mint is not refused because one node alone denies it', async () => {
  localnet.controls.setFault(0, ACCOUNTS, { kind: 'http', status: 500 });
  localnet.controls.setFault(1, ACCOUNTS, NOTHING);
  await expect(agreedMint(pool, localnet.mint.address)).rejects.toMatchObject({ code: 'NoHealthyNode' });
});

test('a node that hides the freeze authority is overruled', async () => {
  const { address } = localnet.mint;
  const account = localnet.controls.chain.vm.account(address);
  if (!account) throw new Error('there is no mint');
  const data = Uint8Array.from(account.data);
  // The tag of freeze_authority: none.
  data.set([0, 0, 0, 0], FREEZE_AUTHORITY);
  const { owner, executable, lamports } = account;
  const shown = { owner, executable, lamports: Number(lamports), rentEpoch: 0, space: data.length };
  const value = [{ ...shown, data: [Buffer.from(data).toString('base64'), 'base64'] }];
  const lie = { kind: 'result', result: { context: { slot: 1 }, value } } as const;
  localnet.controls.setFault(0, ACCOUNTS, lie);
  const { freezeAuthority } = await agreedMint(pool, address);
  expect(freezeAuthority).toBe(localnet.controls.authority);
  for (const node of [1, 2]) localnet.controls.setFault(node, ACCOUNTS, lie);
  expect(await agreedMint(pool, address)).toMatchObject({ freezeAuthority: null });
});

test('nodes without agreement are named with the fields that differ', async () => {
  const { address } = localnet.mint;
  const [node0, node1, node2] = pool.nodes.map(({ name }) => name);
  localnet.controls.setFault(0, ACCOUNTS, NOTHING);
  localnet.controls.setFault(1, ACCOUNTS, {
    kind: 'result',
    result: {
      context: { slot: 1 },
      value: [
        {
          owner: TOKEN_PROGRAM,
          executable: false,
          lamports: 7,
          rentEpoch: 0,
          space: 0,
          data: ['', 'base64'],
        },
      ],
    },
  });
  const lamports = localnet.controls.chain.vm.account(address)?.lamports;
  const reading = new AgreedAccounts(pool, 0).read(
    [address],
    async (view) => (await view.account(address)).account,
    (account) => ({ kind: 'shown', side: { lamports: account?.lamports ?? null } }),
  );
  await expect(reading).rejects.toMatchObject({
    code: 'NodeFault',
    message: `RPC nodes disagree about the accounts ${address} (side.lamports: ${node0} null, ${node1} 7, ${node2} ${lamports}); 2 nodes must agree before the payment can continue`,
  });
});

test('a parse error in the answer of one node is the failure of that node alone', async () => {
  const odd = pool.nodes[0]?.name;
  const read = (isOdd: (node: string) => boolean) =>
    new AgreedAccounts(pool, 0).read(
      [localnet.mint.address],
      async (view) => {
        const { account, node } = await view.account(localnet.mint.address);
        if (isOdd(node)) throw new TypeError('the answer cannot be read');
        return account?.owner;
      },
      (owner) => owner,
    );
  expect(await read((node) => node === odd)).toBe(TOKEN_PROGRAM);
  await expect(read(() => true)).rejects.toMatchObject({
    code: 'NoHealthyNode',
    message: expect.stringContaining('the answer cannot be read'),
  });
});

test('a node is not distrusted because answers come from several slots', async () => {
  const [first, second] = [localnet.mint.address, localnet.feeMint.address];
  const differing = pool.nodes[0]?.name;
  const at = (slot: number) => {
    localnet.controls.clearFaults();
    const result = { context: { slot }, value: [null] };
    for (const node of pool.nodes.keys())
      localnet.controls.setFault(node, ACCOUNTS, { kind: 'result', result });
  };
  at(5);
  let arrived = 0;
  const reading = new AgreedAccounts(pool, 0).read(
    [first],
    async (view) => {
      at(5);
      await view.account(first);
      arrived += 1;
      // The two nodes of the first round, then all three.
      await expect.poll(() => arrived === 2 || arrived === 5, { timeout: 30_000, interval: 1 }).toBe(true);
      at(7);
      const { node } = await view.account(second);
      return node === differing ? 'one' : 'other';
    },
    (value) => value,
  );
  expect(await reading).toBe('other');
  expect(arrived).toBe(5);
  expect(pool.report()[0]?.demotion).toBeNull();
});
