import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startLocalnet } from './localnet.ts';

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number, not '${text}'`);
  return Number(text);
}

/** Runs a chain until SIGINT or SIGTERM. Prints one JSON line with the URLs and mints when the chain is ready. */
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
    port: wholeNumber('port', values.port),
    slotMs: wholeNumber('slot-ms', values['slot-ms']),
    finalityLag: wholeNumber('finality-lag', values['finality-lag']),
    nodes: wholeNumber('nodes', values.nodes),
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
