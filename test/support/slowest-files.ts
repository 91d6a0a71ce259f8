import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 5;

/** Prints the number of ended files from time to time, and at the end the slowest files. */
export class SlowestFiles implements Reporter {
  #files = 0;
  #ended = 0;

  onTestRunStart(files: readonly unknown[]): void {
    this.#files = files.length;
    this.#ended = 0;
  }

  onTestModuleEnd(): void {
    this.#ended += 1;
    const every = Math.ceil(this.#files / 20);
    if (this.#ended % every === 0 && this.#files > SHOWN)
      process.stdout.write(`   ${this.#ended} of ${this.#files} files have ended\n`);
  }

  onTestRunEnd(files: readonly TestModule[]): void {
    if (files.length <= SHOWN) return;
    const slowest = files
      .map((file) => ({ file, seconds: secondsOf(file) }))
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, SHOWN);
    const lines = slowest.map(
      ({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${relative('', file.moduleId)}`,
    );
    process.stdout.write(`\nThe slowest files, with their imports and hooks:\n${lines.join('\n')}\n`);
  }
}

/** Seconds of one file, as vitest measured them in its process. */
function secondsOf(file: TestModule): number {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } =
    file.diagnostic();
  return (prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration) / 1_000;
}
