import { activityInfo, cancellationSignal } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { RescanOrder } from '../domain/scan.ts';
import { HeaderBook } from '../solana/scan/header-book.ts';
import { beating } from './beating.ts';
import { openBlocks, type ScannerDeps } from './deposit-scanner.ts';

const SLOTS_AT_ONCE = 16n;
const BLOCKS_AT_ONCE = 8;

/** Reads committed blocks again. */
export function createDepositRescan(deps: ScannerDeps) {
  const { ledger, matcher, pool } = deps;
  const show = openBlocks(deps);

  async function part(from: bigint, to: bigint): Promise<number> {
    const headers = await ledger.scan.headersBetween(from, to);
    if (headers.length === 0) return 0;
    const listed = new HeaderBook(pool);
    await listed.learn(headers.map(({ slot }) => slot));
    const blocks = await pLimit(BLOCKS_AT_ONCE).map(headers, (header) =>
      show(header.slot, listed.named(header) ?? header),
    );
    const result = await ledger.scan.upsert(await matcher.match(blocks));
    if (result === 'overtaken') matcher.forget();
    return result === 'overtaken' ? part(from, to) : headers.length;
  }

  return {
    /**
     * Puts on record what was missed in these blocks, which stay where they are; another amount than the one on record is an alarm.
     * Answers how many blocks were read. Throws InvalidRequest for blocks whose headers are pruned, and as `NodePool.read` does.
     */
    async rescan({ from, to, who, why }: RescanOrder): Promise<{ readonly blocks: number }> {
      const range = { from: BigInt(from), to: BigInt(to) };
      await ledger.rescans.begin({ ...range, who, why });
      const cursor = await ledger.scan.cursor();
      const last = cursor === null || cursor.slot > range.to ? range.to : cursor.slot;
      const resumed = activityInfo().heartbeatDetails as { next: string; blocks: number } | undefined;
      let blocks = resumed?.blocks ?? 0;
      let next = BigInt(resumed?.next ?? from);
      const readOn = async (): Promise<void> => {
        for (; next <= last && !cancellationSignal().aborted; next += SLOTS_AT_ONCE) {
          const end = next + SLOTS_AT_ONCE - 1n;
          blocks += await part(next, end < last ? end : last);
        }
      };
      await beating(readOn, () => ({ next: next.toString(), blocks }));
      await ledger.rescans.end(range);
      return { blocks };
    },
  };
}
