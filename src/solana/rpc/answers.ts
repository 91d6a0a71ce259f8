const GRACE_MS = 500;

export interface NodeRequest<T> {
  readonly answer: Promise<T>;
  /** False if the answer is used when it arrives in time, but is not waited for. */
  readonly isExpected: boolean;
}

/**
 * Results in the order of `asked`, once all have settled. The wait ends half a second after `quorum` requests
 * succeeded, or at once if no other result is expected. Null for a request that has not settled; its later answer is
 * dropped. Never throws.
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
