import { startLocalnet } from '../../src/localnet/localnet.ts';
import { conformanceSuite } from './suite.ts';

conformanceSuite('localnet', async () => {
  const localnet = await startLocalnet({ slotMs: 20, finalityLag: 8, nodes: 1 });
  const [rpcUrl = ''] = localnet.rpcUrls;
  const [wsUrl = ''] = localnet.wsUrls;
  return { rpcUrl, wsUrl, stop: () => localnet.close() };
});
