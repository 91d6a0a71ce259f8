import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManagedProcess } from '../../devkit/localstack/process.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';
import type { PeerConfig } from './peer-config.ts';

/** A peer in a process of its own, so that its CPU time can be measured. */
export interface PeerProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `main.ts` with its files and its log in `dir`; one process of each peer in one directory. */
export async function startPeerProcess(config: PeerConfig, dir: string): Promise<PeerProcess> {
  const name = `peer-${config.peer}`;
  const [configFile, readyFile] = [join(dir, `${name}.json`), join(dir, `${name}.ready.json`)];
  rmSync(readyFile, { force: true });
  writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
  const peer = new ManagedProcess({
    name,
    ...nodeProgram(new URL('main.ts', import.meta.url), [configFile, readyFile]),
    logFile: join(dir, `${name}.log`),
    ready: async () => existsSync(readyFile),
  });
  await peer.start();
  const { pid } = peer;
  if (pid === undefined) throw new Error(`${name} ended: ${peer.ending}`);
  const { url } = JSON.parse(readFileSync(readyFile, 'utf8')) as { url: string };
  return { url, pid, stop: () => peer.stop() };
}
