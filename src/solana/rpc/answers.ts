/** How long a quorum that has answered waits for the others. */
const GRACE_MS = 500;

/** A question on its way to one of several nodes. */
export interface Asked<T> {
  readonly answer: Promise<T>;
  /** False where its answer is taken if it comes, and nobody waits for it. */
  readonly expected: boolean;
}

/**
 * How each has ended, in their order, once all have; at the latest half a second after `quorum` gave what is `wanted`, and at once
 * where none of the others is expected. Null for one that has not ended by then: what it answers later is lost. Never throws.
 */
export async function answersOfMost<T>(
  asked: readonly Asked<T>[],
  quorum: number,
  wanted: (answer: T) => boolean = () => true,
): Promise<readonly (PromiseSettledResult<T> | null)[]> {
  const ended: (PromiseSettledResult<T> | null)[] = asked.map(() => null);
  await new Promise<void>((resolve) => {
    let grace: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(grace);
      resolve();
    };
    const isLeft = (one: Asked<T>, index: number): boolean => ended[index] === null && one.expected;
    const look = (): void => {
      if (!ended.includes(null)) return end();
      const given = ended.filter((one) => one?.status === 'fulfilled' && wanted(one.value)).length;
      if (given < quorum) return;
      if (!asked.some(isLeft)) return end();
      grace ??= setTimeout(end, GRACE_MS);
    };
    for (const [index, { answer }] of asked.entries())
      void Promise.allSettled([answer]).then(([result]) => {
        ended[index] = result;
        look();
      });
    look();
  });
  return [...ended];
}
