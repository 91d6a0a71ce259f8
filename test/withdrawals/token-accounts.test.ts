import {
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createInitializeMint2Instruction,
  createInitializePausableConfigInstruction,
  createMintToInstruction,
  createPauseInstruction,
  createResumeInstruction,
  ExtensionType,
  getMintLen,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import { Keypair, PublicKey, SystemProgram } from '@solana/web3.js';
import { afterEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Withdrawal } from '../../src/client/client.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { until } from '../support/until.ts';
import { query, settledBooks, waitForStatus } from './outcomes-support.ts';
import { useStack } from './use-stack.ts';

const use = useStack();
afterEach(() => use.chain.heal());

it('the second of two transfers to one new token account pays no rent, and the books equal the chain', async () => {
  const asset = use.chain.mint('mint');
  const destination = newAddress();
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

it('a token account that its owner closes before the payment lands is created again, and the next attempt pays', async () => {
  const { stack, sluice, chain } = use;
  const asset = chain.mint('mint');
  const owner = Keypair.generate();
  const destination = owner.publicKey.toBase58();
  await chain.airdrop(destination, 1_000_000_000);
  await sluice.withdraw({ id: 'opens', asset, amount: '5000000', destination });
  expect(await sluice.waitForFinal('opens')).toMatchObject({ status: 'finalized' });

  await chain.swallowSends();
  await sluice.withdraw({ id: 'closed', asset, amount: '7000000', destination });
  const { attempts } = await waitForStatus(sluice, 'closed', 'sending');
  expect(attempts).toMatchObject([{ rentLamports: '0' }]);
  const mint = new PublicKey(asset);
  const account = new PublicKey(deriveAta(destination, asset, TOKEN_PROGRAM_ID.toBase58()));
  await chain.healAndSend(owner, [
    createBurnInstruction(account, mint, owner.publicKey, 5_000_000n),
    createCloseAccountInstruction(account, owner.publicKey, owner.publicKey),
  ]);

  const failed = await failsOnce('closed', 1);
  expect(failed).toMatchObject({
    status: 'preparing',
    reason: { code: 'attempt_failed', message: expect.stringContaining('(token program) failed:') },
    attempts: [{ n: 1, state: 'failed', signature: attempts[0]?.signature }],
  });
  expect(await sluice.explain('closed')).toMatchObject({
    waitsFor: expect.stringContaining('next attempt'),
    attempt: { n: 1, verdict: 'failed' },
  });
  expect(await sluice.waitForFinal('closed')).toMatchObject({ status: 'finalized', reason: null });
  const open = await query(stack, `select 1 from reservation where state = 'open'`);
  expect(open).toEqual([]);
  const received = [{ received: 5_000_000n }, { received: 7_000_000n }];
  expect(await chain.paymentsTo(destination)).toMatchObject(received);
}, 120_000);

it('a payment whose mint its issuer pauses after the signature, and resumes, is paid by a later attempt', async () => {
  const { stack, sluice, chain } = use;
  const issuer = Keypair.generate();
  await chain.airdrop(issuer.publicKey.toBase58(), 1_000_000_000);
  const mint = await pausableMint(issuer);
  const terms = { id: 'paused', asset: mint.toBase58(), amount: '1000', acceptEmptyWallet: true };
  const destination = newAddress();
  await chain.swallowSends();
  await sluice.withdraw({ ...terms, destination });
  await waitForStatus(sluice, 'paused', 'sending');
  await chain.healAndSend(issuer, [createPauseInstruction(mint, issuer.publicKey)]);
  const failed = await failsOnce('paused', 1);
  expect(failed.attempts[0]?.error).toContain('"Custom":67');
  await chain.healAndSend(issuer, [createResumeInstruction(mint, issuer.publicKey)]);
  expect(await sluice.waitForFinal('paused')).toMatchObject({ status: 'finalized', amountReceived: '1000' });
  expect(await chain.paymentsTo(destination)).toHaveLength(1);
  expect(await query(stack, 'select kind from alert where closed_at is null')).toEqual([]);
  const { chain: spent, record } = await settledBooks(stack);
  expect(record).toEqual(spent);
}, 120_000);

it('a payment whose hot wallet token account is frozen after the signature five times is held for an operator', async () => {
  const { stack, sluice, chain } = use;
  const id = 'keeps-failing';
  const asset = chain.mint('mint');
  const destination = newAddress();
  const failsFrozen = async (n: number) => {
    await until(async () => (await sluice.get(id)).attempts.at(n - 1)?.state === 'signed');
    await freezeHot(true);
    await chain.heal();
    await failsOnce(id, n);
    await chain.swallowSends();
    await freezeHot(false);
  };
  await chain.swallowSends();
  await sluice.withdraw({ id, asset, amount: '1000', destination, acceptEmptyWallet: true });
  await failsFrozen(1);
  await query(stack, COPIES, [id]);
  await failsFrozen(5);
  await chain.heal();
  // While finalized blocks show the freeze, that is the reason.
  await until(async () => (await sluice.get(id)).reason?.code === 'payment_keeps_failing');
  const held = await sluice.get(id);
  expect(held.status).toBe('held');
  expect(held.attempts.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'failed'));
  const { alerts } = await sluice.settlements.explain(id);
  expect(alerts).toMatchObject([{ kind: 'payment_keeps_failing' }]);
  const reason = 'the issuer leaves it thawed';
  const order = (path: string, body: object) =>
    fetch(`${stack.apiUrl}/v1/alerts/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, reason }),
    });
  expect((await order('seen', { seen: [alerts[0]?.position] })).status).toBe(400);
  const closed = await order('close', { kind: 'payment_keeps_failing', subject: id });
  expect([closed.status, await closed.json()]).toEqual([200, { closed: true }]);

  expect(await sluice.waitForFinal(id)).toMatchObject({ status: 'finalized', reason: null });
  expect(await chain.paymentsTo(destination)).toMatchObject([{ asset, received: 1_000n }]);
}, 180_000);

it('a frozen token account of the hot wallet holds all withdrawals of the token with one alert, and a thaw lets them continue', async () => {
  const { stack, sluice, chain } = use;
  const asset = chain.mint('mint');
  const open = () => query(stack, 'select kind, subject from alert where closed_at is null');
  await freezeHot(true);
  const ids = ['frozen-1', 'frozen-2'];
  for (const id of ids) {
    const terms = { id, asset, amount: '1000', destination: newAddress(), acceptEmptyWallet: true };
    await sluice.withdraw(terms);
    const held = await waitForStatus(sluice, id, 'held');
    expect(held).toMatchObject({ reason: { code: 'hot_account_frozen' }, attempts: [] });
  }
  expect(await open()).toEqual([{ kind: 'hot_account_frozen', subject: asset }]);
  await freezeHot(false);
  for (const id of ids) expect(await sluice.waitForFinal(id)).toMatchObject({ status: 'finalized' });
  expect(await open()).toEqual([]);
}, 120_000);

it('a third party who funds the token accounts of receivers before they exist stops no withdrawal', async () => {
  const { sluice, chain } = use;
  const asset = chain.mint('mint');
  const rent = 2_039_280;
  // The chain takes no lamports below 890,880, the minimum of an account without data.
  const funds = [890_880, rent - 1, rent, rent + 1];
  const ids = await Promise.all(
    funds.map(async (lamports) => {
      const [id, destination] = [`funded-${lamports}`, newAddress()];
      await chain.airdrop(deriveAta(destination, asset, TOKEN_PROGRAM_ID.toBase58()), lamports);
      await sluice.withdraw({ id, asset, amount: '1000', destination, acceptEmptyWallet: true });
      return id;
    }),
  );
  for (const id of ids) expect(await sluice.waitForFinal(id)).toMatchObject({ status: 'finalized' });
}, 120_000);

/** Three more failures, as if the first had happened four times; their delays are over. */
const COPIES = `insert into attempt (settlement_id, n, kind, signers, message_hash, message, blockhash, blockhash_slot,
    blockhash_height, last_valid_block_height, compute_unit_limit, compute_unit_price_micro_lamports, fee_lamports,
    rent_lamports, state, signatures, slot, error, proof, ended_at)
  select settlement_id, copy, kind, signers, encode(sha256(copy::text::bytea), 'hex'), message, blockhash, blockhash_slot,
    blockhash_height, last_valid_block_height, compute_unit_limit, compute_unit_price_micro_lamports, fee_lamports,
    rent_lamports, state, array['copy ' || copy], slot, error, proof, now() - interval '1 hour'
  from attempt, generate_series(2, 4) copy where settlement_id = $1 and n = 1`;

/** The withdrawal as soon as its n-th attempt has failed on chain. */
async function failsOnce(id: string, n: number): Promise<Withdrawal> {
  await until(async () => (await use.sluice.get(id)).attempts.at(n - 1)?.state === 'failed');
  return use.sluice.get(id);
}

/** The issuer freezes or thaws the hot wallet's account of the chain's mint; the change is final. */
async function freezeHot(frozen: boolean): Promise<void> {
  const { chain } = use;
  const asset = chain.mint('mint');
  const hot = chain.hotKey().publicKey.toBase58();
  await rpc(chain.url, 'localnet_setFrozen', [asset, hot, frozen]);
  const account = deriveAta(hot, asset, TOKEN_PROGRAM_ID.toBase58());
  await until(async () => {
    const config = { encoding: 'jsonParsed', commitment: 'finalized' };
    const shown = await rpc(chain.url, 'getAccountInfo', [account, config]);
    return JSON.stringify(shown).includes('"frozen"') === frozen;
  });
}

/** A Token-2022 mint that its issuer can pause, of which the hot wallet has 1,000,000 base units. */
async function pausableMint(issuer: Keypair): Promise<PublicKey> {
  const { chain } = use;
  const owner = issuer.publicKey;
  const program = TOKEN_2022_PROGRAM_ID;
  const mint = await PublicKey.createWithSeed(owner, 'mint', program);
  const hot = chain.hotKey().publicKey;
  const account = new PublicKey(deriveAta(hot.toBase58(), mint.toBase58(), program.toBase58()));
  const space = getMintLen([ExtensionType.PausableConfig]);
  await chain.healAndSend(issuer, [
    SystemProgram.createAccountWithSeed({
      fromPubkey: owner,
      newAccountPubkey: mint,
      basePubkey: owner,
      seed: 'mint',
      lamports: 10_000_000,
      space,
      programId: program,
    }),
    createInitializePausableConfigInstruction(mint, owner, program),
    createInitializeMint2Instruction(mint, 6, owner, null, program),
    createAssociatedTokenAccountIdempotentInstruction(owner, account, hot, mint, program),
    createMintToInstruction(mint, account, owner, 1_000_000n, [], program),
  ]);
  await until(async () => (await chain.lamports(account.toBase58())) > 0);
  return mint;
}
