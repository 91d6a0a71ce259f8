import { createBurnInstruction, createCloseAccountInstruction, TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { afterEach, expect, it } from 'vitest';
import { rpc } from '../../src/localstack/rpc.ts';
import { deriveAta } from '../../src/solana/ata.ts';
import { newWallet } from '../support/stack.ts';
import { query, reaches, settledBooks, until } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
afterEach(() => use.chain.heal());

it('two transfers to one new token account: the second pays no rent, and the books are those of the chain', async () => {
  const asset = use.chain.mint('mint');
  const destination = newWallet();
  const twins = ['twin-1', 'twin-2'].map((id) => ({
    id,
    asset,
    amount: '1000',
    destination,
    acceptEmptyWallet: true,
  }));
  await Promise.all(twins.map((terms) => use.sluice.withdraw(terms)));
  const ended = await Promise.all(twins.map(({ id }) => use.sluice.waitForFinal(id, { pollMs: 100 })));
  expect(ended.map(({ status }) => status)).toEqual(['finalized', 'finalized']);

  const rents = ended.map(({ attempts }) => BigInt(attempts.at(-1)?.rentLamports ?? -1));
  expect(rents.filter((rent) => rent === 0n)).toHaveLength(1);
  expect(rents.filter((rent) => rent > 0n)).toHaveLength(1);
  const { chain, record } = await settledBooks(use.stack);
  for (const { attempts } of ended) {
    const signature = attempts.at(-1)?.signature ?? '';
    expect(record[signature]).toBe(chain[signature]);
  }
});

it('a token account that its owner closes before the payment lands fails the withdrawal for good, and frees the money', async () => {
  const { stack, sluice, chain } = use;
  const asset = chain.mint('mint');
  const owner = Keypair.generate();
  const destination = owner.publicKey.toBase58();
  await chain.airdrop(destination, 1_000_000_000);
  await sluice.withdraw({ id: 'opens', asset, amount: '5000000', destination });
  expect(await sluice.waitForFinal('opens')).toMatchObject({ status: 'finalized' });

  await chain.swallowSends();
  await sluice.withdraw({ id: 'closed', asset, amount: '7000000', destination });
  const { attempts } = await reaches(sluice, 'closed', 'sending');
  expect(attempts).toMatchObject([{ rentLamports: '0' }]);
  const mint = new PublicKey(asset);
  const account = new PublicKey(deriveAta(destination, asset, TOKEN_PROGRAM_ID.toBase58()));
  await chain.healAndSend(owner, [
    createBurnInstruction(account, mint, owner.publicKey, 5_000_000n),
    createCloseAccountInstruction(account, owner.publicKey, owner.publicKey),
  ]);

  const failed = await sluice.waitForFinal('closed');
  expect(failed).toMatchObject({
    status: 'failed',
    reason: { code: 'failed_on_chain', message: expect.stringContaining('(token program) failed:') },
    attempts: [{ n: 1, state: 'failed', signature: attempts[0]?.signature }],
  });
  const open = await query(stack, `select 1 from reservation where state = 'open'`);
  expect(open).toEqual([]);
  expect(await chain.paymentsTo(destination)).toMatchObject([{ asset, received: 5_000_000n }]);
}, 120_000);

it("a frozen token account of the hot wallet holds every customer's withdrawal with one alert, and a thaw has them paid", async () => {
  const { stack, sluice, chain } = use;
  const asset = chain.mint('mint');
  const hot = chain.hotKey().publicKey.toBase58();
  const freeze = (frozen: boolean) => rpc(chain.url, 'localnet_setFrozen', [asset, hot, frozen]);
  const isFrozen = async () => {
    const account = deriveAta(hot, asset, TOKEN_PROGRAM_ID.toBase58());
    const config = { encoding: 'jsonParsed', commitment: 'finalized' };
    const shown = await rpc(chain.url, 'getAccountInfo', [account, config]);
    return JSON.stringify(shown).includes('"frozen"');
  };
  const open = () => query(stack, 'select kind, subject from alert where closed_at is null');
  await freeze(true);
  await until(isFrozen);
  const ids = ['frozen-1', 'frozen-2'];
  for (const id of ids) {
    const terms = { id, asset, amount: '1000', destination: newWallet(), acceptEmptyWallet: true };
    await sluice.withdraw(terms);
    const held = await reaches(sluice, id, 'held');
    expect(held).toMatchObject({ reason: { code: 'hot_account_frozen' }, attempts: [] });
  }
  expect(await open()).toEqual([{ kind: 'hot_account_frozen', subject: asset }]);
  await freeze(false);
  for (const id of ids) expect(await sluice.waitForFinal(id)).toMatchObject({ status: 'finalized' });
  expect(await open()).toEqual([]);
}, 120_000);

it('a stranger who funds the token accounts of receivers before they exist stops no withdrawal', async () => {
  const { sluice, chain } = use;
  const asset = chain.mint('mint');
  const rent = 2_039_280;
  // The chain takes no lamports below 890,880, the minimum of an account without data.
  const funds = [890_880, rent - 1, rent, rent + 1];
  const ids = await Promise.all(
    funds.map(async (lamports) => {
      const [id, destination] = [`funded-${lamports}`, newWallet()];
      await chain.airdrop(deriveAta(destination, asset, TOKEN_PROGRAM_ID.toBase58()), lamports);
      await sluice.withdraw({ id, asset, amount: '1000', destination, acceptEmptyWallet: true });
      return id;
    }),
  );
  for (const id of ids) expect(await sluice.waitForFinal(id)).toMatchObject({ status: 'finalized' });
}, 120_000);
