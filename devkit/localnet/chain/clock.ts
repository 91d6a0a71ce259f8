/** Calls `tick` every `slotMs`, without drift; each call comes after the one before has ended. */
export function startClock(slotMs: number, tick: () => void): { stop(): void } {
  let next = performance.now() + slotMs;
  let timer: NodeJS.Timeout;
  const run = (): void => {
    tick();
    next = Math.max(next + slotMs, performance.now());
    timer = setTimeout(run, Math.max(0, next - performance.now()));
  };
  timer = setTimeout(run, slotMs);
  return { stop: () => clearTimeout(timer) };
}
