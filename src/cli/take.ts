/** The first `limit` items; what comes after them is not read. */
export async function take<Item>(all: AsyncIterable<Item>, limit: number): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of all) {
    taken.push(item);
    if (taken.length === limit) break;
  }
  return taken;
}
