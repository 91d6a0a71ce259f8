import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Bench } from '../localnet/support.ts';
import { version2Buyer } from './buyers.ts';
import { type PeerProcess, startPeerProcess } from './peer-process.ts';
import { PRICED } from './peer-server.ts';

const buyer = Keypair.generate();
const payTo = Keypair.generate().publicKey.toBase58();
const dir = mkdtempSync(join(tmpdir(), 'sluice-peers-'));

let bench: Bench;
let rpcUrl: string;
let facilitator: PeerProcess;
let server: PeerProcess;
beforeAll(async () => {
  bench = await Bench.start({ slotMs: 20, finalityLag: 8, nodes: 1 });
  rpcUrl = bench.localnet.rpcUrls[0] ?? '';
  const { mintTo, plantedMint } = bench.localnet;
  await mintTo(plantedMint.address, buyer.publicKey.toBase58(), 1_000_000n);
  await mintTo(plantedMint.address, payTo, 1n);
  const secretKey = [...bench.payer.secretKey];
  facilitator = await startPeerProcess({ peer: 'facilitator', rpcUrl, secretKey }, dir);
  server = await startPeerProcess({ peer: 'server', facilitatorUrl: facilitator.url, payTo }, dir);
});
afterAll(async () => {
  await server?.stop();
  await facilitator?.stop();
  await bench?.localnet.close();
  rmSync(dir, { recursive: true, force: true });
});

it('the official server and facilitator sell in processes of their own', async () => {
  const buy = await version2Buyer({ rpcUrl, secretKey: buyer.secretKey });
  const { response, settlement } = await buy(`${server.url}${PRICED.path}`);
  expect(response.status).toBe(200);
  expect(settlement).toMatchObject({ success: true, payer: buyer.publicKey.toBase58() });
  expect(new Set([process.pid, server.pid, facilitator.pid]).size).toBe(3);
});
