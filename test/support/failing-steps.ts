import { failureLine } from './crash-log-lines.ts';
import { intercept, isAt } from './intercept.ts';

/** By the id of a withdrawal: the points, as {@link isAt} takes them, at which a call for it throws, each as often as it is named. */
const points = new Map(Object.entries<string[]>(JSON.parse(process.env['STEPS_FAIL'] ?? '{}')));

/** The service, whose calls throw at those points. Temporal runs their steps again. */
export function failAtPoints<T extends object>(service: T, name: string): T {
  return intercept(service, name, (side, call, args) => {
    const id = args.map(idOf).find((one) => one !== undefined) ?? '';
    const left = points.get(id) ?? [];
    const index = left.findIndex((point) => isAt(point, side, call, args));
    if (index < 0) return;
    const line = failureLine(id, left.splice(index, 1).join());
    process.stderr.write(`${line}\n`);
    throw new Error(line);
  });
}

/** The id of a withdrawal, of its terms or of its attempt. */
function idOf(arg: unknown): string | undefined {
  const values = typeof arg === 'object' && arg !== null ? Object.values(arg) : [arg];
  return values.find((value): value is string => typeof value === 'string' && points.has(value));
}
