import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { DevFacts } from '../../devkit/localstack/dev-file.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { type RunningCommand, startDevelopment } from '../support/cli.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';

/** A folder of its own, without a stack. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-dev-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, '.sluice'));
  return path;
}

/** A database and a namespace on the servers that all tests share: `sluice dev` then starts neither PostgreSQL nor Temporal. */
export async function shared(): Promise<NodeJS.ProcessEnv> {
  const [database, { env }] = await Promise.all([freshDatabase(), freshNamespace('dev')]);
  onTestFinished(() => database.drop());
  return { DATABASE_URL: database.url, ...env };
}

/** `sluice dev` in that folder, beside any other stack on this machine. */
export async function dev(
  cwd: string,
  servers: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<RunningCommand> {
  const ports = { SLUICE_HTTP_PORT: String(await freePort()), SLUICE_X402_PORT: String(await freePort()) };
  const env = { ...testEnvironment(), ...servers, ...ports };
  const running = startDevelopment(['dev', ...args], { cwd, env });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

/** Runs `sluice dev` on a chain that runs already, and buys from its gateway. */
export async function sellOn(rpcUrl: string): Promise<void> {
  const cwd = folder();
  const running = await dev(cwd, await shared(), '--rpc', rpcUrl, '--json');
  await expect.poll(() => running.stdout(), { timeout: 180_000 }).toContain('\n');
  const facts = JSON.parse(running.stdout()) as DevFacts;
  expect(facts).toMatchObject({ rpcUrls: [rpcUrl], chain: null, deposits: null });
  expect(running.stderr()).toContain(`made the mint ${facts.sales?.asset}`);
  const url = `${facts.sales?.gatewayUrl}/hello`;
  const isSold = async () => expect((await fetch(url)).status).toBe(402);
  await vi.waitFor(isSold, { timeout: 120_000, interval: 200 });
  const bought = await startDevelopment(['x402', 'buy', url, '-o', 'json'], { cwd }).ended;
  expect(bought.code, bought.stderr).toBe(0);
  expect(JSON.parse(bought.stdout)).toMatchObject({ ok: true, status: 200 });
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
}
