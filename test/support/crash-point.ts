import { writeSync } from 'node:fs';
import { base58 } from '@scure/base';
import { crashLine } from './crash-log-lines.ts';
import { intercept, isAt } from './intercept.ts';

/**
 * Where this process kills itself with SIGKILL: CRASH_AT is a point as {@link isAt} takes it; CRASH_ID and CRASH_WALLET are the id and
 * the destination of the withdrawal that the call must be for.
 */
const point = process.env['CRASH_AT'] ?? '';
const victim = process.env['CRASH_ID'] ?? '';
const victimWallet = Buffer.from(base58.decode(process.env['CRASH_WALLET'] ?? ''));
const STDERR = 2;

/** The service, which kills the process at the crash point if that is one of its calls. */
export function killAtCrashPoint<T extends object>(service: T, name: string): T {
  return intercept(service, name, (side, call, args) => {
    if (isAt(point, side, call, args) && args.some(namesVictim)) killProcess();
  });
}

function killProcess(): void {
  writeSync(STDERR, `${crashLine(point)}\n`);
  process.kill(process.pid, 'SIGKILL');
}

/** By its id, or by its destination's key inside a message or a transaction. */
function namesVictim(value: unknown): boolean {
  if (typeof value === 'string')
    return value === victim || Buffer.from(value, 'base64').includes(victimWallet);
  if (value instanceof Uint8Array) return Buffer.from(value).includes(victimWallet);
  return typeof value === 'object' && value !== null && Object.values(value).some(namesVictim);
}
