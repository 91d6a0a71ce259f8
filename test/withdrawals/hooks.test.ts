import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { keypairFile, newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Withdrawal, WithdrawalStatus } from '../../src/client/client.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM } from '../../src/solana/tx/programs.ts';
import {
  hookedMint,
  hookList,
  type ListEntry,
  plantHookList,
  plantHookProgram,
} from '../activities/hook-program.ts';
import { SLOT_MS, type TestStack, testStack } from '../support/stack.ts';
import { query, waitForStatus } from './outcomes-support.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'sluice-hooks-'));
const { address: hotWallet, path: keyFile } = keypairFile(join(stateDir, 'hot-wallet.json'));
let localnet: Localnet;
let running: TestStack;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: SLOT_MS, finalityLag: 4, hotWallet });
  running = await testStack(SLOT_MS, {
    SLUICE_RPC_URLS: localnet.rpcUrls.join(','),
    SLUICE_SIGNER_KEY_FILE: keyFile,
    SLUICE_TOKEN_POLICY: 'transferHook=allow',
  });
});
afterAll(async () => {
  await running?.close();
  await localnet?.close();
  rmSync(stateDir, { recursive: true, force: true });
});

/** The hook's own address for the wallet, which the hook reads from the destination's token account. */
const PDA_OF_RECEIVER: ListEntry = { kind: 1, config: Uint8Array.of(4, 2, 32, 32) };

/** Pays or holds 1,000 base units, and reads the wallet's balance directly from the chain. */
async function pay(
  id: string,
  mint: string,
  end: WithdrawalStatus = 'finalized',
): Promise<{ paid: Withdrawal; received: string }> {
  await localnet.mintTo(mint, hotWallet, 1_000_000n);
  const destination = newAddress();
  const { sluice } = running;
  await sluice.withdraw({ id, asset: mint, amount: '1000', destination, acceptEmptyWallet: true });
  const paid = await waitForStatus(sluice, id, end);
  const account = deriveAta(destination, mint, TOKEN_2022_PROGRAM);
  const balance = await rpc<{ value: { amount: string } }>(url(), 'getTokenAccountBalance', [account]).catch(
    () => null,
  );
  return { paid, received: balance?.value.amount ?? '0' };
}

const url = (): string => localnet.rpcUrls[0] ?? '';

/** A program that the transaction ran, according to the log of the chain. */
async function ran(program: string, signature: string): Promise<boolean> {
  const options = { commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  const { meta } = await rpc<{ meta: { logMessages: string[] } }>(url(), 'getTransaction', [
    signature,
    options,
  ]);
  return meta.logMessages.some((line) => line.startsWith(`Program ${program} success`));
}

describe('a token whose mint names a transfer hook', () => {
  it('is paid with the accounts that the hook demands, by the complete stack', async () => {
    const program = plantHookProgram(localnet, 1);
    const mint = await hookedMint(localnet, program);
    plantHookList(localnet, mint, program, hookList([PDA_OF_RECEIVER]));
    const { paid, received } = await pay('hooked', mint);
    expect(paid).toMatchObject({ status: 'finalized', amountReceived: '1000' });
    expect(received).toBe('1000');
    expect(await ran(program, paid.attempts.at(-1)?.signature ?? '')).toBe(true);
  });

  it('is paid like any other token where the mint names no program', async () => {
    const { paid, received } = await pay('unhooked', await hookedMint(localnet, SYSTEM_PROGRAM));
    expect(paid).toMatchObject({ status: 'finalized' });
    expect(received).toBe('1000');
  });

  it('is held where the hook refuses the transfer, reserves nothing, and can be cancelled', async () => {
    const program = plantHookProgram(localnet, 2);
    const mint = await hookedMint(localnet, program);
    plantHookList(localnet, mint, program, hookList([PDA_OF_RECEIVER]));
    const { paid, received } = await pay('refused', mint, 'held');
    const reason = { code: 'cannot_prepare', message: expect.stringContaining('"Custom":1') };
    expect(paid).toMatchObject({ status: 'held', reason, attempts: [] });
    expect(received).toBe('0');
    expect(await query(running.stack, `select 1 from reservation where state = 'open'`)).toEqual([]);
    expect(await running.sluice.cancel('refused')).toMatchObject({ status: 'cancelled' });
  });
});
