import { inColumns } from '../../src/cli/columns.ts';
import { formatLamports, formatUnits } from '../../src/domain/amount.ts';
import { type ChainInfo, mintsOf } from '../localstack/chain.ts';
import { DECIMALS } from '../localstack/payer.ts';

/** Amounts are in base units. */
export interface DemoRow {
  readonly what: string;
  readonly status: string;
  /** `SOL`, or the address of a mint. */
  readonly asset: string;
  readonly sent: bigint;
  /** The amount of each transfer in the blocks. */
  readonly received: readonly bigint[];
  /** The signature, or the reason why there is no transaction. */
  readonly note: string;
}

type Headings = readonly [what: string, status: string, sent: string];
export const WITHDRAWAL_HEADINGS: Headings = ['withdrawal', 'result', 'requested'];

const SYMBOLS: Readonly<Record<string, string>> = { mint: 'TEST', feeMint: 'TESTFEE', plantedMint: 'USDC' };
/** The only mint of the demo that is not a mint of the chain. */
const COUNTERFEIT = 'FAKE';
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{80,88}$/;
const SHORT_LENGTH = 8;

/** The rows as a table. Amounts are decimals with a symbol; signatures are abbreviated. */
export function renderTable(headings: Headings, rows: readonly DemoRow[], chain: ChainInfo | null): string {
  const symbols = Object.fromEntries(
    Object.entries(mintsOf(chain)).map(([name, address]) => [address, SYMBOLS[name]]),
  );
  const cells = rows.map(({ what, status, asset, sent, received, note }) => {
    const show = (amount: bigint): string =>
      asset === 'SOL'
        ? `${formatLamports(amount)} SOL`
        : `${formatUnits(amount, DECIMALS)} ${symbols[asset] ?? COUNTERFEIT}`;
    return [
      what,
      status,
      show(sent),
      received.map((amount) => `1 × ${show(amount)}`).join(' + ') || 'none',
      SIGNATURE.test(note) ? `${note.slice(0, SHORT_LENGTH)}…` : note,
    ];
  });
  return inColumns([[...headings, 'transfers in the blocks', 'transaction'], ...cells]).join('\n');
}
