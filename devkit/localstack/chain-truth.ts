import { rpc } from './rpc.ts';

/** One payment that left a wallet, as the finalized blocks show it. Amounts in base units. */
export interface ChainPayment {
  readonly signature: string;
  readonly slot: number;
  /** The wallet that received: for tokens the owner of the token account. */
  readonly wallet: string;
  readonly asset: string;
  readonly received: bigint;
  /** What left the payer for it: more than arrived where the mint withholds a fee. */
  readonly sent: bigint;
}

/** What one transaction brought to one account of a wallet, as its finalized block shows it. Amounts in base units. */
export interface ChainArrival {
  readonly signature: string;
  readonly slot: number;
  readonly blockhash: string;
  /** The wallet for SOL, else the token account. */
  readonly account: string;
  readonly wallet: string;
  readonly asset: string;
  readonly amount: bigint;
}

/** What one transaction did to the lamports of a wallet, as its finalized block shows it. */
export interface WalletTransaction {
  readonly signature: string;
  readonly slot: number;
  /** True where it failed on chain and cost its fee only. */
  readonly failed: boolean;
  /** What the wallet paid as fee payer; 0 where another one did. */
  readonly feeLamports: bigint;
  /** Balance after less balance before, fee included. */
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

/** A finalized block with the balances of each account before and after its transactions. */
export interface FinalizedBlock {
  readonly slot: number;
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly transactions: readonly BlockTransaction[];
}

/**
 * All transfers from `payer`, with the fee paid by any account. Reads only the finalized blocks of one node, and uses no code of the
 * product: demo, crash tests and benchmarks are judged by it. Small amounts only: balances are read as JSON numbers.
 * Throws if a block is missing between genesis and the tip.
 */
export function paymentsOnChain(rpcUrl: string, payer: string): Promise<readonly ChainPayment[]> {
  return collect(rpcUrl, ({ slot, transactions }) =>
    transactions.flatMap((transaction) => paymentsOf(transaction, payer, slot)),
  );
}

/** All arrivals at `wallets` in the finalized blocks of one node, counted by {@link arrivalsIn}. Throws like {@link paymentsOnChain}. */
export function arrivalsOnChain(
  rpcUrl: string,
  wallets: ReadonlySet<string>,
): Promise<readonly ChainArrival[]> {
  return collect(rpcUrl, (block) => arrivalsIn(block, wallets));
}

/**
 * Everything that the transactions without error of a block brought to `wallets`, whatever it is worth, by a count of its own: the judge
 * of what the scan found. A token account that changed hands, or was one of another mint before, brings all that is in it.
 * Source: docs/interface.md, Deposit detection rules.
 */
export function arrivalsIn(
  { slot, blockhash, transactions }: FinalizedBlock,
  wallets: ReadonlySet<string>,
): readonly ChainArrival[] {
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
      .map((arrival) => ({ signature: signatures[0] ?? '', slot, blockhash, ...arrival }));
  });
}

/** Every transaction that `wallet` signed, failed ones included, the oldest first. Throws as {@link paymentsOnChain}. */
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

/** All finalized blocks, each proved to follow the one before: a count over them leaves nothing out. */
export async function* finalizedBlocks(rpcUrl: string): AsyncGenerator<FinalizedBlock> {
  const finalized = { commitment: 'finalized' };
  const tip = await rpc<number>(rpcUrl, 'getSlot', [finalized]);
  const slots = await rpc<readonly number[]>(rpcUrl, 'getBlocks', [0, tip, finalized]);
  if (slots.at(-1) !== tip) throw new Error(`the finalized block ${tip} is missing`);
  let before: FinalizedBlock | undefined;
  for (let at = 0; at < slots.length; at += BLOCKS_AT_ONCE) {
    const page = slots.slice(at, at + BLOCKS_AT_ONCE).map((slot) => readBlock(rpcUrl, slot));
    for (const block of await Promise.all(page)) {
      const follows = before === undefined ? block.slot === 0 : block.previousBlockhash === before.blockhash;
      if (!follows) throw new Error(`a finalized block before ${block.slot} is missing`);
      before = block;
      yield block;
    }
  }
}

async function readBlock(rpcUrl: string, slot: number): Promise<FinalizedBlock> {
  return { ...(await rpc<Omit<FinalizedBlock, 'slot'>>(rpcUrl, 'getBlock', [slot, BLOCK_OPTIONS])), slot };
}

const BLOCKS_AT_ONCE = 32;

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

/** How much more of its mint an owner has in an account than before. */
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
