import { type AccountsModeBlockResponse, Connection, type ParsedMessageAccount } from '@solana/web3.js';
import { answerQuestions } from './child.ts';

/** What a process with the loop of web3.js, or with JSON.parse alone, is asked to read; both slots included. */
export interface Web3Question {
  readonly kind: 'getBlock' | 'JSON.parse';
  readonly rpcUrl: string;
  readonly from: number;
  readonly to: number;
  readonly wallets: readonly string[];
}

/** `found`: accounts of the wallets that gained something. `milliseconds`: of JSON.parse, without the fetch. */
export interface Web3Answer {
  readonly found: number;
  readonly milliseconds: number;
}

type AccountsModeMeta = NonNullable<AccountsModeBlockResponse['transactions'][number]['meta']>;

answerQuestions<Web3Question, Web3Answer>(async (question) => {
  const slots = Array.from({ length: question.to - question.from + 1 }, (_, at) => question.from + at);
  return question.kind === 'getBlock' ? getBlocks(question, slots) : parseBlocks(question, slots);
});

async function getBlocks({ rpcUrl, wallets }: Web3Question, slots: readonly number[]): Promise<Web3Answer> {
  const connection = new Connection(rpcUrl, 'finalized');
  const watched = new Set(wallets);
  const started = performance.now();
  let found = 0;
  for (const slot of slots) {
    // Its types promise whole transactions here, where a version is named; its answer has only their accounts.
    const block = (await connection.getBlock(slot, {
      transactionDetails: 'accounts',
      maxSupportedTransactionVersion: 0,
      rewards: false,
    })) as AccountsModeBlockResponse | null;
    if (block === null) throw new Error(`no block ${slot}`);
    for (const { transaction, meta } of block.transactions) {
      if (meta === null || meta.err !== null) continue;
      found += gains(transaction.accountKeys, meta, watched);
    }
  }
  return { found, milliseconds: performance.now() - started };
}

function gains(
  keys: readonly ParsedMessageAccount[],
  meta: AccountsModeMeta,
  watched: ReadonlySet<string>,
): number {
  let found = 0;
  for (const [index, { pubkey }] of keys.entries()) {
    const gained = (meta.postBalances[index] ?? 0) - (meta.preBalances[index] ?? 0);
    if (gained > 0 && watched.has(pubkey.toBase58())) found += 1;
  }
  const before = new Map(meta.preTokenBalances?.map((holding) => [holding.accountIndex, holding]));
  for (const { accountIndex, owner = '', uiTokenAmount } of meta.postTokenBalances ?? []) {
    if (!watched.has(owner)) continue;
    const had = BigInt(before.get(accountIndex)?.uiTokenAmount.amount ?? 0);
    if (BigInt(uiTokenAmount.amount) > had) found += 1;
  }
  return found;
}

async function parseBlocks({ rpcUrl }: Web3Question, slots: readonly number[]): Promise<Web3Answer> {
  let milliseconds = 0;
  for (const slot of slots) {
    const params = [slot, { transactionDetails: 'accounts' }];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBlock', params });
    const text = await (await fetch(rpcUrl, { method: 'POST', body })).text();
    const started = performance.now();
    JSON.parse(text);
    milliseconds += performance.now() - started;
  }
  return { found: 0, milliseconds };
}
