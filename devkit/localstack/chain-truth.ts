import { rpc } from './rpc.ts';

/** A transfer from a wallet in a finalized block. Amounts are in base units. */
export interface ChainPayment {
  readonly signature: string;
  readonly slot: number;
  readonly wallet: string;
  readonly asset: string;
  readonly received: bigint;
  /** Amount that left the payer; more than `received` if the mint withholds a fee. */
  readonly sent: bigint;
}

/** An increase in the balance of a wallet's account by one transaction in a finalized block. `amount` is in base units. */
export interface IncomingTransfer {
  readonly signature: string;
  readonly slot: number;
  readonly blockhash: string;
  readonly account: string;
  readonly wallet: string;
  readonly asset: string;
  readonly amount: bigint;
}

/** A finalized transaction that a wallet signed, with its effect on the wallet's lamports. */
export interface WalletTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly failed: boolean;
  /** Fee that the wallet paid; 0 if another account is the fee payer. */
  readonly feeLamports: bigint;
  /** Balance after minus balance before, including the fee. */
  readonly changeLamports: bigint;
}

interface RpcTokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly uiTokenAmount: { readonly amount: string };
}

interface BlockTransaction {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly accountKeys: readonly { readonly pubkey: string; readonly signer: boolean }[];
  };
  readonly meta: {
    readonly err: unknown;
    readonly fee: number;
    readonly preBalances: readonly number[];
    readonly postBalances: readonly number[];
    readonly preTokenBalances: readonly RpcTokenBalance[];
    readonly postTokenBalances: readonly RpcTokenBalance[];
  };
}

/** A finalized block. Its transactions have the balances of their accounts before and after. */
export interface FinalizedBlock {
  readonly slot: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly transactions: readonly BlockTransaction[];
}

/**
 * All transfers that `payer` signed, with any fee payer. Reads only the finalized blocks of one node and uses no code of the
 * product, so that it can judge the demo, crash tests and benchmarks. Balances are JSON numbers: they must be safe integers.
 * Throws if a block is missing between genesis and the tip.
 */
export function paymentsOnChain(rpcUrl: string, payer: string): Promise<readonly ChainPayment[]> {
  return collect(rpcUrl, ({ slot, transactions }) =>
    transactions.flatMap((transaction) => paymentsOf(transaction, payer, slot)),
  );
}

/** {@link incomingTransfersIn} of all finalized blocks of one node. Throws if a block is missing between genesis and the tip. */
export function incomingTransfersOnChain(
  rpcUrl: string,
  wallets: ReadonlySet<string>,
): Promise<readonly IncomingTransfer[]> {
  return collect(rpcUrl, (block) => incomingTransfersIn(block, wallets));
}

/**
 * All balance increases of `wallets` in the successful transactions of a block, of any asset and amount. Independent of the scanner's
 * code, so that it can judge the scan. If the owner or mint of a token account changes, its whole balance is an increase.
 * Source: docs/interface.md, Deposit detection rules.
 */
export function incomingTransfersIn(
  { slot, blockhash, transactions }: FinalizedBlock,
  wallets: ReadonlySet<string>,
): readonly IncomingTransfer[] {
  return transactions.flatMap(({ transaction, meta }) => {
    if (meta.err !== null) return [];
    const { accountKeys, signatures } = transaction;
    const lamports = accountKeys.map(({ pubkey: wallet }, index) => {
      return { account: wallet, wallet, asset: 'SOL', amount: gainOf(meta, index) };
    });
    const tokens = meta.postTokenBalances.map((balance) => {
      const { accountIndex, owner: wallet, mint: asset } = balance;
      const account = accountKeys[accountIndex]?.pubkey ?? '';
      return { account, wallet, asset, amount: tokenGain(meta, balance) };
    });
    return [...lamports, ...tokens]
      .filter(({ wallet, amount }) => wallets.has(wallet) && amount > 0n)
      .map((transfer) => ({ signature: signatures[0] ?? '', slot, blockhash, ...transfer }));
  });
}

/** All transactions that `wallet` signed, including failed ones, oldest first. Throws if a block is missing. */
export function transactionsSignedBy(rpcUrl: string, wallet: string): Promise<readonly WalletTransaction[]> {
  return collect(rpcUrl, ({ slot, transactions }) =>
    transactions.flatMap(({ transaction, meta }) => {
      const index = transaction.accountKeys.findIndex((key) => key.pubkey === wallet && key.signer);
      if (index === -1) return [];
      const feeLamports = index === 0 ? BigInt(meta.fee) : 0n;
      const [failed, changeLamports] = [meta.err !== null, gainOf(meta, index)];
      return [{ signature: transaction.signatures[0] ?? '', slot, failed, feeLamports, changeLamports }];
    }),
  );
}

async function collect<T>(
  rpcUrl: string,
  read: (block: FinalizedBlock) => readonly T[],
): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const block of finalizedBlocks(rpcUrl)) found.push(...read(block));
  return found;
}

/** All finalized blocks from genesis to the tip. Throws if a block is missing: each must have its predecessor's blockhash. */
export async function* finalizedBlocks(rpcUrl: string): AsyncGenerator<FinalizedBlock> {
  const finalized = { commitment: 'finalized' };
  const tip = await rpc<number>(rpcUrl, 'getSlot', [finalized]);
  const slots = await rpc<readonly number[]>(rpcUrl, 'getBlocks', [0, tip, finalized]);
  if (slots.at(-1) !== tip) throw new Error(`${rpcUrl} does not list the finalized block in slot ${tip}`);
  let previous: FinalizedBlock | undefined;
  for (let start = 0; start < slots.length; start += MAX_BLOCKS_AT_ONCE) {
    const page = slots.slice(start, start + MAX_BLOCKS_AT_ONCE).map((slot) => readBlock(rpcUrl, slot));
    for (const block of await Promise.all(page)) {
      const expected = previous?.blockhash;
      const isNext = expected === undefined ? block.slot === 0 : block.previousBlockhash === expected;
      if (!isNext) throw new Error(`${rpcUrl} does not list a finalized block before slot ${block.slot}`);
      previous = block;
      yield block;
    }
  }
}

async function readBlock(rpcUrl: string, slot: number): Promise<FinalizedBlock> {
  return { ...(await rpc<Omit<FinalizedBlock, 'slot'>>(rpcUrl, 'getBlock', [slot, BLOCK_OPTIONS])), slot };
}

const MAX_BLOCKS_AT_ONCE = 32;

const BLOCK_OPTIONS = {
  commitment: 'finalized',
  encoding: 'jsonParsed',
  transactionDetails: 'accounts',
  maxSupportedTransactionVersion: 1,
  rewards: false,
};

function gainOf(meta: BlockTransaction['meta'], index: number): bigint {
  return BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0);
}

/** Increase of a token account's balance; the whole balance if the account had another mint or owner before. */
function tokenGain(
  meta: BlockTransaction['meta'],
  { accountIndex, mint, owner, uiTokenAmount }: RpcTokenBalance,
): bigint {
  const before = meta.preTokenBalances.find(
    (balance) => balance.accountIndex === accountIndex && balance.mint === mint && balance.owner === owner,
  );
  return BigInt(uiTokenAmount.amount) - BigInt(before?.uiTokenAmount.amount ?? '0');
}

function paymentsOf({ transaction, meta }: BlockTransaction, payer: string, slot: number): ChainPayment[] {
  const { accountKeys } = transaction;
  if (meta.err !== null || !accountKeys.some((key) => key.pubkey === payer && key.signer)) return [];
  const signature = transaction.signatures[0] ?? '';
  const tokenAccounts = new Set(meta.postTokenBalances.map((balance) => balance.accountIndex));
  const lamports = accountKeys.flatMap(({ pubkey: wallet }, index) => {
    const received = gainOf(meta, index);
    return received > 0n && wallet !== payer && !tokenAccounts.has(index)
      ? [{ signature, slot, wallet, asset: 'SOL', received, sent: received }]
      : [];
  });
  const tokens = meta.postTokenBalances.flatMap((balance) => {
    const { mint: asset, owner: wallet } = balance;
    const received = tokenGain(meta, balance);
    if (received <= 0n || wallet === payer) return [];
    const sent = meta.postTokenBalances
      .filter((other) => other.owner === payer && other.mint === asset)
      .reduce((sum, other) => sum - tokenGain(meta, other), 0n);
    return [{ signature, slot, wallet, asset, received, sent }];
  });
  return [...lamports, ...tokens];
}
