import { expect, it } from 'vitest';
import { anchorsOf, exists, pages, proseOf, ROOT, sources, textOf } from './pages.ts';

const LINK = /\]\(([^()\s]+)\)/g;

/** Links of a page that lead to no file, or to a missing heading of a page. */
function brokenLinksOf(page: string): readonly string[] {
  const text = textOf(page);
  return [...proseOf(text).matchAll(LINK)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const url = path === '' ? new URL(page, ROOT) : new URL(path, new URL(page, ROOT));
    if (!exists(url)) return [`${page}: ${target}`];
    if (anchor === undefined || !url.pathname.endsWith('.md')) return [];
    const other = path === '' ? text : textOf(url.href.slice(ROOT.href.length));
    return anchorsOf(other).has(anchor) ? [] : [`${page}: ${target}`];
  });
}

it('every relative link leads to a file, and every anchor to a heading', () => {
  expect(pages().flatMap(brokenLinksOf)).toEqual([]);
});

it('every page below docs is linked from another page', () => {
  const linked = new Set(
    pages().flatMap((page) =>
      [...proseOf(textOf(page)).matchAll(LINK)]
        .map(([, target = '']) => target)
        .filter((target) => !/^([a-z]+:|#)/.test(target))
        .map((target) =>
          new URL(target.split('#')[0] ?? '', new URL(page, ROOT)).href.slice(ROOT.href.length),
        ),
    ),
  );
  expect(pages().filter((page) => page.startsWith('docs/') && !linked.has(page))).toEqual([]);
});

const REPOSITORY_PATH = /`((?:src|test|bench|chaos|conformance|scripts|deploy)\/[\w./-]+\.(?:ts|mjs|json))`/g;
const DOCS_PATH = /docs\/[\w/-]+\.md/g;

it('every file that a page names exists', () => {
  const missing = pages().flatMap((page) =>
    [...textOf(page).matchAll(REPOSITORY_PATH)]
      .map(([, path = '']) => path)
      .filter((path) => !exists(new URL(path, ROOT)))
      .map((path) => `${page}: ${path}`),
  );
  expect(missing).toEqual([]);
});

it('every page that code names exists', () => {
  const missing = sources().flatMap((file) =>
    [...textOf(file).matchAll(DOCS_PATH)]
      .map(([path]) => path)
      .filter((path) => !exists(new URL(path, ROOT)))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});
