import { writeSync } from 'node:fs';
import { base58 } from '@scure/base';
import { lastWords } from './last-words.ts';

/**
 * Where this process ends itself by SIGKILL, made for one withdrawal: CRASH_AT="before attempts.prepare" or, with a word that the
 * call must carry, "after withdrawals.note confirmed"; CRASH_ID and CRASH_WALLET are the withdrawal's id and destination.
 */
const [side = '', call = '', word = ''] = (process.env['CRASH_AT'] ?? '').split(' ');
const victim = process.env['CRASH_ID'] ?? '';
const victimWallet = Buffer.from(base58.decode(process.env['CRASH_WALLET'] ?? ''));
const STDERR = 2;

/** The room, deadly at the crash point if that is one of its calls. */
export function deadly<T extends object>(room: T, name: string): T {
  return new Proxy(room, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const fatal = `${name}.${String(key)}` === call && (word === '' || args.includes(word));
        if (!fatal || !args.some(concernsVictim)) return member.apply(target, args);
        if (side === 'before') die();
        return Promise.resolve(member.apply(target, args)).finally(die);
      };
    },
  });
}

function die(): void {
  writeSync(STDERR, `${lastWords(process.env['CRASH_AT'] ?? '')}\n`);
  process.kill(process.pid, 'SIGKILL');
}

/** By its id, or by its destination's key inside a message or a transaction. */
function concernsVictim(value: unknown): boolean {
  if (typeof value === 'string')
    return value === victim || Buffer.from(value, 'base64').includes(victimWallet);
  if (value instanceof Uint8Array) return Buffer.from(value).includes(victimWallet);
  return typeof value === 'object' && value !== null && Object.values(value).some(concernsVictim);
}
