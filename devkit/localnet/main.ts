import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startLocalnet } from './localnet.ts';

function whole(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number, not ${text}`);
  return Number(text);
}

/** Runs a chain until SIGINT or SIGTERM; prints one JSON line with its URLs and mints when it is ready. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8899' },
      'slot-ms': { type: 'string', default: '400' },
      'finality-lag': { type: 'string', default: '32' },
      nodes: { type: 'string', default: '2' },
      'hot-wallet': { type: 'string' },
      'ready-file': { type: 'string' },
    },
  });
  const hotWallet = values['hot-wallet'];
  const localnet = await startLocalnet({
    port: whole('port', values.port),
    slotMs: whole('slot-ms', values['slot-ms']),
    finalityLag: whole('finality-lag', values['finality-lag']),
    nodes: whole('nodes', values.nodes),
    ...(hotWallet === undefined ? {} : { hotWallet }),
  });
  const { rpcUrls, wsUrls, mint, feeMint, plantedMint } = localnet;
  const ready = JSON.stringify({ rpcUrls, wsUrls, mint, feeMint, plantedMint });
  if (values['ready-file'] !== undefined) writeFileSync(values['ready-file'], `${ready}\n`);
  process.stdout.write(`${ready}\n`);
  const stop = (): void => void localnet.close().then(() => process.exit(0));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

await main();
