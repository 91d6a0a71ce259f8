import { Keypair } from '@solana/web3.js';
import { rpc } from '../../devkit/localstack/rpc.ts';
import type { Closers } from '../../src/platform/shutdown.ts';
import { startCountingProxy } from '../../test/peers/counting-proxy.ts';
import { startPeerProcess } from '../../test/peers/peer-process.ts';
import { PRICED } from '../../test/peers/peer-server.ts';
import type { Place, Seller } from './market.ts';

const FEE_PAYER_LAMPORTS = 10_000_000_000;

/** Starts the official express server and the official facilitator, each a process. */
export async function startOfficialSeller(
  { chain, nodeUrl, token, dir }: Place,
  closers: Closers,
): Promise<Seller> {
  const node = await startCountingProxy(nodeUrl);
  closers.add('proxy of theirs', () => node.close());
  const feePayer = Keypair.generate();
  const payTo = Keypair.generate().publicKey.toBase58();
  await rpc(nodeUrl, 'requestAirdrop', [feePayer.publicKey.toBase58(), FEE_PAYER_LAMPORTS]);
  // One unit creates the seller's token account.
  await chain.mintTo(token, payTo, 1n);
  const secretKey = [...feePayer.secretKey];
  const facilitator = await startPeerProcess({ peer: 'facilitator', rpcUrl: node.url, secretKey }, dir);
  closers.add('official facilitator', () => facilitator.stop());
  const price = { asset: token.mint, amount: PRICED.amount.toString() };
  const facilitatorUrl = facilitator.url;
  const server = await startPeerProcess({ peer: 'server', facilitatorUrl, payTo, price }, dir);
  closers.add('official server', () => server.stop());
  return {
    name: 'theirs',
    url: `${server.url}${PRICED.path}`,
    payTo,
    node,
    besideNode: null,
    processes: { server: server.pid, facilitator: facilitator.pid },
    settled: async () => undefined,
  };
}
