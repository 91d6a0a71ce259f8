import type { CallOptions } from './waiting.ts';

/** Which page of a list. */
export interface PageOptions extends CallOptions {
  /** 1 to 200. */
  readonly limit?: number;
  /** `nextCursor` of the page before; null or absent for the first one. */
  readonly cursor?: string | null;
}

/** The pages of a list from the first to the last one, each fetched when it is asked for. */
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
