import { PublicKey } from '@solana/web3.js';
import type { Stack } from '../../devkit/localstack/stack.ts';
import type { Deposit, DepositEvent, SluiceClient } from '../../src/client/client.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { CreditTerms, DepositEvidence, PaidLeg } from './audit.ts';
import { readChain } from './chain.ts';
import { userRefOf } from './exchange.ts';
import { associated, type Coins } from './instructions.ts';
import type { PlannedDeposit } from './plan.ts';

/** A payment that is final, failed on purpose or not; `wallets` are those of its legs. */
export interface Made {
  readonly payment: PlannedDeposit;
  readonly wallets: readonly string[];
  readonly signature: string;
}

interface Sources {
  readonly stack: Stack;
  readonly sluice: SluiceClient;
  readonly coins: Coins;
  readonly made: readonly Made[];
  readonly followed: readonly DepositEvent[];
}

/** Reads the blocks, the API and the database. */
export async function readEvidence({
  stack,
  sluice,
  coins,
  made,
  followed,
}: Sources): Promise<DepositEvidence> {
  const wallets = new Set(made.flatMap((one) => one.wallets));
  const [record, deposits, feed, assets] = await Promise.all([
    readRecord(stack.databaseUrl),
    all<Deposit>(sluice.deposits.list()),
    all<DepositEvent>(sluice.deposits.events({ follow: false })),
    sluice.assets.list(),
  ]);
  // After the database, which grows meanwhile: so the chain is never behind it.
  const chain = await readChain(stack.rpcUrls[0] ?? '', wallets);
  const terms = assets.map(({ asset, minimumDeposit }): [string, CreditTerms] => [
    asset,
    { minimum: BigInt(minimumDeposit) },
  ]);
  return {
    paid: paidBy(made, coins),
    ...chain,
    ...record,
    assets: new Map(terms),
    accountOf: accounts(coins),
    // What users pay is judged here; the wallet that pays them has an audit of its own.
    deposits: deposits.filter(({ wallet, state }) => wallet !== stack.hotWallet || state === 'final'),
    feed,
    followed,
  };
}

function paidBy(made: readonly Made[], coins: Coins): readonly PaidLeg[] {
  return made
    .filter(({ payment }) => payment.fake === null)
    .flatMap(({ payment, wallets, signature }) =>
      payment.legs.map(({ coin, user }, index) => ({
        signature,
        wallet: wallets[index] ?? '',
        asset: coin === 'SOL' ? coin : coins[coin].address,
        userRef: userRefOf(user),
      })),
    );
}

function accounts({ token, feeToken, unlisted }: Coins): (wallet: string, asset: string) => string {
  const known = new Map<string, string>();
  return (wallet, asset) => {
    const mint = [token, feeToken, unlisted].find(({ address }) => address === asset);
    if (mint === undefined) return wallet;
    const name = `${wallet} ${asset}`;
    const account = known.get(name) ?? associated(new PublicKey(wallet), mint).toBase58();
    known.set(name, account);
    return account;
  };
}

async function readRecord(
  databaseUrl: string,
): Promise<Pick<DepositEvidence, 'headers' | 'cursor' | 'openGaps'>> {
  const ledger = await openLedger(databaseUrl);
  try {
    const cursor = await ledger.scan.cursor();
    return {
      cursor,
      headers: await ledger.scan.headersBetween(0n, cursor?.slot ?? 0n),
      openGaps: (await ledger.gaps.list(100)).filter(({ state }) => state === 'open').length,
    };
  } finally {
    await ledger.close();
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
