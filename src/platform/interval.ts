/** Runs `work` now and every `everyMs`. `onFailure` receives errors. Returns a function that stops it. */
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
