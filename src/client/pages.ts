import type { CallOptions } from './waiting.ts';

export interface PageOptions extends CallOptions {
  /** 1 to 200. */
  readonly limit?: number;
  /** `nextCursor` of the previous page; null or absent for the first one. */
  readonly cursor?: string | null;
}

/** Fetches the pages of a list one at a time, in order. */
export async function* pagesOf<Page extends { readonly nextCursor: string | null }>(
  fetchPage: (cursor: string | null) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let cursor: string | null = null;
  do {
    const page: Page = await fetchPage(cursor);
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** The items of all pages, in order. */
export async function* itemsOf<Page extends { readonly nextCursor: string | null }, Item>(
  fetchPage: (cursor: string | null) => Promise<Page>,
  items: (page: Page) => readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  for await (const page of pagesOf(fetchPage)) yield* items(page);
}
