import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import type { Closers } from '../../src/platform/shutdown.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import { type ChainRooms, chainWorker, runWorkers } from '../../src/worker.ts';

/**
 * A real chain worker that ends itself by SIGKILL before or after one call, made for one withdrawal:
 * CRASH_AT="before attempts.prepare", CRASH_ID=<withdrawal id>.
 */
const [side = '', call = ''] = (process.env['CRASH_AT'] ?? '').split(' ');
const victim = process.env['CRASH_ID'] ?? '';
const victimBytes = new Set<unknown>();

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

function concernsVictim(args: readonly unknown[]): boolean {
  const [first] = args;
  if (first === victim || victimBytes.has(first)) return true;
  if (typeof first !== 'object' || first === null) return false;
  return Object.values(first).includes(victim);
}

function deadly<T extends object>(room: T, name: string): T {
  return new Proxy(room, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (key === 'storeSignature' && args[0] === victim) victimBytes.add(args[3]);
        if (`${name}.${String(key)}` !== call || !concernsVictim(args)) return member.apply(target, args);
        if (side === 'before') die();
        return Promise.resolve(member.apply(target, args)).finally(die);
      };
    },
  });
}

function decorate({ ledger, chain }: ChainRooms): ChainRooms {
  const withdrawals = deadly(ledger.withdrawals, 'withdrawals');
  const attempts = deadly(ledger.attempts, 'attempts');
  return { ledger: { ...ledger, withdrawals, attempts }, chain: deadly(chain, 'chain') };
}

const config = readConfigOrExit(process.env, 'chain');
const staff = async (connection: NativeConnection, closers: Closers) => [
  await chainWorker(config, connection, closers, decorate),
];
await runWorkers(config, staff, shutdownSignal().signal);
