// Loaded with --import into a worker: shifts its clock by the milliseconds in the file CHAOS_CLOCK_FILE, and follows that file.
// Only `Date` is touched: performance.now and timers run on, as they do when the clock of a machine is set.
import { readFileSync } from 'node:fs';

const file = process.env.CHAOS_CLOCK_FILE;
const FOLLOW_MS = 200;

if (file !== undefined && process.env.SLUICE_WORKER_ROLE === 'chain') {
  const Real = globalThis.Date;
  let offsetMs = 0;
  const follow = () => {
    try {
      offsetMs = Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      offsetMs = 0;
    }
  };
  follow();
  setInterval(follow, FOLLOW_MS).unref();
  globalThis.Date = /** @type {DateConstructor} */ (
    new Proxy(Real, {
      construct: (target, args, self) =>
        Reflect.construct(target, args.length === 0 ? [Real.now() + offsetMs] : args, self),
      apply: () => new Real(Real.now() + offsetMs).toString(),
      get: (target, name) =>
        name === 'now' ? () => Real.now() + offsetMs : Reflect.get(target, name, target),
    })
  );
}
