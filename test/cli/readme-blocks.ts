import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of the README. */
export interface ReadmeBlock {
  /** The nearest heading above it. */
  readonly heading: string;
  readonly language: string;
  readonly code: string;
}

const HEADING_OR_BLOCK = /^#{2,3} (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm;

/** The blocks of the README in order, as a reader would copy them. */
export function readmeBlocks(): readonly ReadmeBlock[] {
  const blocks: ReadmeBlock[] = [];
  let current = '';
  for (const [, heading, language = '', code] of readme().matchAll(HEADING_OR_BLOCK)) {
    if (heading !== undefined) current = heading;
    if (code !== undefined) blocks.push({ heading: current, language, code });
  }
  return blocks;
}

/** The commands under a heading, as one script. */
export function commandsOf(heading: string): string {
  const blocks = readmeBlocks().filter((block) => block.heading === heading && block.language === 'sh');
  if (blocks.length === 0) throw new Error(`README.md has no commands under "${heading}"`);
  return blocks.map(({ code }) => code).join('');
}

/** The programs of the README, by the file name in their first line. */
export function programs(): ReadonlyMap<string, string> {
  const found = readmeBlocks().filter(({ language }) => language === 'ts');
  return new Map(found.map(({ code }) => [/^\/\/ (\S+)\n/.exec(code)?.[1] ?? '', code]));
}

function readme(): string {
  return readFileSync(join(ROOT, 'README.md'), 'utf8');
}
