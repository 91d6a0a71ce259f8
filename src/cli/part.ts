const LARGEST_PAGE = 200;

/** Which part of a list somebody asks for. */
export interface Part {
  readonly limit: number;
  /** `nextCursor` of the part before. */
  readonly cursor?: string | undefined;
}

/** Up to `limit` entries, over as many pages as they take, and where the list goes on; null at its end. */
export async function partOf<Entry>(
  { limit, cursor }: Part,
  fetchPage: (part: { readonly limit: number; readonly cursor: string | null }) => Promise<{
    readonly entries: readonly Entry[];
    readonly nextCursor: string | null;
  }>,
): Promise<{ readonly entries: readonly Entry[]; readonly nextCursor: string | null }> {
  const entries: Entry[] = [];
  let nextCursor = cursor ?? null;
  do {
    const size = Math.min(limit - entries.length, LARGEST_PAGE);
    const page = await fetchPage({ limit: size, cursor: nextCursor });
    entries.push(...page.entries);
    nextCursor = page.nextCursor;
  } while (nextCursor !== null && entries.length < limit);
  return { entries, nextCursor };
}

/** The line below a table of such a part. */
export function goesOn(nextCursor: string | null): readonly string[] {
  return nextCursor === null
    ? []
    : [`there are more: --cursor ${nextCursor} goes on, --limit lists more at once`];
}
