import { existsSync, readdirSync, readFileSync } from 'node:fs';

export const ROOT = new URL('../../', import.meta.url);

/** Paths of the documentation pages, relative to the root of the repository. */
export function pages(): readonly string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const below = readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' });
  return [...top, ...below.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
}

/** Files outside of docs that name pages, relative to the root of the repository. */
export function sources(): readonly string[] {
  const folders = ['src', 'devkit', 'test', 'scripts', 'bench', 'chaos', 'conformance'];
  const below = folders.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$|\.mjs$/.test(name) && !name.includes('node_modules/'))
      .map((name) => `${folder}/${name}`),
  );
  return ['.env.example', 'docker-compose.yml', ...below];
}

export function textOf(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8');
}

/** The text without fenced and inline code. */
export function proseOf(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const lines = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm);
  return new Set([...lines].map(([, heading = '']) => anchorOf(heading)));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** True for a file or folder of the repository. */
export function exists(url: URL): boolean {
  return existsSync(url);
}
