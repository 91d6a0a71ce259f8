// `node --import tsx test/peers/main.ts <config.json> <ready.json>`: serves one official peer until SIGTERM.
// It writes {"url"} to the second file when it is ready.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { HttpServer } from '../support/http.ts';
import type { PeerConfig } from './peer-config.ts';

const [configFile, readyFile] = process.argv.slice(2);
if (configFile === undefined || readyFile === undefined)
  throw new Error('usage: main.ts <config.json> <ready.json>');

const server = await start(JSON.parse(readFileSync(configFile, 'utf8')) as PeerConfig);
writeFileSync(`${readyFile}.part`, JSON.stringify({ url: server.url }));
renameSync(`${readyFile}.part`, readyFile);
process.once('SIGTERM', () => void server.close().then(() => process.exit()));

async function start(config: PeerConfig): Promise<HttpServer> {
  if (config.peer === 'server') {
    const { startPeerServer } = await import('./peer-server.ts');
    return startPeerServer(config);
  }
  const { startPeerFacilitator } = await import('./peer-facilitator.ts');
  return startPeerFacilitator({ ...config, secretKey: Uint8Array.from(config.secretKey) });
}
