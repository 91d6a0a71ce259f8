/**
 * Does `work` now and every `everyMs`. A failure is told to `onFailure` and left to the next time. Call the answer to stop.
 */
export function keepDoing(
  everyMs: number,
  work: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => void {
  const once = () => void work().catch(onFailure);
  once();
  const rhythm = setInterval(once, everyMs);
  return () => clearInterval(rhythm);
}
