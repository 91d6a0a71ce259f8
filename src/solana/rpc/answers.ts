const GRACE_MS = 500;

export interface Asked<T> {
  readonly answer: Promise<T>;
  /** False if the answer is used when it arrives in time, but is not waited for. */
  readonly expected: boolean;
}

/**
 * Results in the order of `asked`, once all have settled. The wait ends half a second after `quorum` requests
 * succeeded, or at once if no other result is expected. Null for a request that has not settled; its later answer is
 * dropped. Never throws.
 */
export async function answersOfMost<T>(
  asked: readonly Asked<T>[],
  quorum: number,
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
      const given = ended.filter((one) => one?.status === 'fulfilled').length;
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
