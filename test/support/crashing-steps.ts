import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { type ChainRooms, chainWorkers } from '../../src/workers/chain.ts';
import { runWorkers } from '../../src/workers/run.ts';
import { stepFails } from './last-words.ts';

/** By the id of a withdrawal: the calls on the record that fail for it, before or after their effect, as often as each is named. */
const failures = new Map(Object.entries<string[]>(JSON.parse(process.env['STEPS_FAIL'] ?? '{}')));

/** The real chain worker, of which steps fail where {@link failures} says so. Temporal runs each again. */
function decorate({ ledger, chain }: ChainRooms): ChainRooms {
  const withdrawals = failing(ledger.withdrawals, 'withdrawals');
  const attempts = failing(ledger.attempts, 'attempts');
  return { ledger: { ...ledger, withdrawals, attempts }, chain };
}

function failing<T extends object>(room: T, name: string): T {
  return new Proxy(room, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        failOnce('before', `${name}.${String(key)}`, args);
        const answer: unknown = member.apply(target, args);
        if (!(answer instanceof Promise)) return answer;
        return answer.then((value) => {
          failOnce('after', `${name}.${String(key)}`, args);
          return value;
        });
      };
    },
  });
}

function failOnce(side: string, call: string, args: readonly unknown[]): void {
  const id = args.map(idOf).find((one) => one !== undefined) ?? '';
  const points = failures.get(id) ?? [];
  const index = points.findIndex((point) => {
    const [itsSide, itsCall, word] = point.split(' ');
    return itsSide === side && itsCall === call && (word === undefined || args.includes(word));
  });
  const [point] = index < 0 ? [] : points.splice(index, 1);
  if (point === undefined) return;
  process.stderr.write(`${stepFails(id, point)}\n`);
  throw new Error(`a test lets this step fail: ${point}`);
}

/** A withdrawal's id, or its terms or attempt. */
function idOf(arg: unknown): string | undefined {
  if (typeof arg === 'string') return failures.has(arg) ? arg : undefined;
  if (typeof arg !== 'object' || arg === null) return undefined;
  return Object.values(arg).find(
    (value): value is string => typeof value === 'string' && failures.has(value),
  );
}

const config = readConfigOrExit(process.env, 'chain');
const staff = async (connection: NativeConnection, closers: Closers, stop: AbortSignal) =>
  chainWorkers(config, connection, closers, stop, decorate);
await runWorkers(config, staff, shutdownSignal().signal);
