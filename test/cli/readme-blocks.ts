import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The code blocks of a section of README, as a reader would copy them. */
export function blocksOf(heading: string): readonly string[] {
  const [, after = ''] = readFileSync(join(ROOT, 'README.md'), 'utf8').split(`\n## ${heading}\n`);
  const [section = ''] = after.split('\n## ');
  return [...section.matchAll(/```\w+\n(.*?)```/gs)].map(([, code = '']) => code);
}
