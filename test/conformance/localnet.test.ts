import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import { conformanceSuite, type RunningChain } from './suite.ts';

async function start(): Promise<RunningChain> {
  const localnet = await startLocalnet({ slotMs: 20, finalityLag: 8, nodes: 1 });
  const [rpcUrl = ''] = localnet.rpcUrls;
  const [wsUrl = ''] = localnet.wsUrls;
  return { rpcUrl, wsUrl, stop: () => localnet.close() };
}

conformanceSuite('localnet', start, { newer: true });
