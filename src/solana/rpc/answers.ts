const GRACE_MS = 500;

export interface NodeRequest<T> {
  readonly answer: Promise<T>;
  /** False if the wait must not be extended for this answer. An answer that arrives in time still counts. */
  readonly isExpected: boolean;
}

/**
 * The results in the order of `requests`. After `quorum` requests have succeeded, waits {@link GRACE_MS} milliseconds
 * for the others, or not at all if no other answer is expected. A request that has not settled in time has the result
 * null, and its later answer is dropped. Never throws.
 */
export async function answersOfMost<T>(
  requests: readonly NodeRequest<T>[],
  quorum: number,
): Promise<readonly (PromiseSettledResult<T> | null)[]> {
  const results: (PromiseSettledResult<T> | null)[] = requests.map(() => null);
  await new Promise<void>((resolve) => {
    let grace: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(grace);
      resolve();
    };
    const isAwaited = (one: NodeRequest<T>, index: number): boolean =>
      results[index] === null && one.isExpected;
    const endIfComplete = (): void => {
      if (!results.includes(null)) return end();
      const successCount = results.filter((one) => one?.status === 'fulfilled').length;
      if (successCount < quorum) return;
      if (!requests.some(isAwaited)) return end();
      grace ??= setTimeout(end, GRACE_MS);
    };
    for (const [index, { answer }] of requests.entries())
      void Promise.allSettled([answer]).then(([result]) => {
        results[index] = result;
        endIfComplete();
      });
    endIfComplete();
  });
  return [...results];
}
