/** Runs before each call of a service, and after each successful call; the caller gets its errors. */
export type CallListener = (side: 'before' | 'after', call: string, args: readonly unknown[]) => void;

/** The service, with every call reported as `name.method`. */
export function intercept<T extends object>(service: T, name: string, listener: CallListener): T {
  return new Proxy(service, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      const call = `${name}.${String(key)}`;
      return (...args: unknown[]) => {
        listener('before', call, args);
        const answer: unknown = member.apply(target, args);
        if (!(answer instanceof Promise)) return answer;
        return answer.then((value: unknown) => {
          listener('after', call, args);
          return value;
        });
      };
    },
  });
}

/** Whether a call is at this point, such as "before attempts.prepare" or, with a required argument, "after settlements.note confirmed". */
export function isAt(point: string, ...[side, call, args]: Parameters<CallListener>): boolean {
  const [itsSide, itsCall, argument] = point.split(' ');
  return itsSide === side && itsCall === call && (argument === undefined || args.includes(argument));
}

/** Wraps services so that a call throws at each of these points, once: a worker that dies there, in the process of the test. */
export function failOnceAt(points: string[]): <T extends object>(service: T, name: string) => T {
  return (service, name) =>
    intercept(service, name, (...reached) => {
      const index = points.findIndex((point) => isAt(point, ...reached));
      if (index >= 0) throw new Error(`crash ${points.splice(index, 1).join()}`);
    });
}
