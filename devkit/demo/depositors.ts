import type { NotCreditedReason } from '../../src/client/client.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { mintsOf } from '../localstack/chain.ts';
import { type Draft, Payer, type Token } from '../localstack/payer.ts';
import { openDeposits } from './development-pool.ts';
import type { Stage } from './stage.ts';

/** A transfer of the demo to a user's wallet. Amounts are in base units. */
export interface PlannedTransfer {
  readonly what: string;
  readonly wallet: string;
  readonly asset: string;
  readonly sent: bigint;
  /** Less than `sent` if the token withholds a fee; 0 if the transaction fails. */
  readonly received: bigint;
  /** Why the transfer must not be credited; null if it must be. */
  readonly reason: NotCreditedReason | null;
}

/** One transaction, built from `drafts`, with all its transfers to users. */
export interface DepositTransaction {
  readonly from: Payer;
  readonly drafts: readonly Draft[];
  readonly transfers: readonly PlannedTransfer[];
}

export interface Depositors {
  readonly payments: readonly DepositTransaction[];
  /** The deposit whose scanner is killed. Each attempt has a different amount. */
  readonly crash: (attempt: number) => DepositTransaction;
  readonly wallets: ReadonlySet<string>;
}

const LAMPORTS = 2_000_000_000n;
const UNITS = 100_000_000n;
const MIN_DEPOSIT = 1_000_000n;
const FEE_DIVISOR = 100n;

/** Imports the address pool, lists the assets, assigns an address to each of three users, and funds the payers. */
export async function createDepositors(stage: Stage): Promise<Depositors> {
  const { sluice, stack, node } = stage;
  const { mint = '', feeMint = '' } = mintsOf(stack.chainInfo);
  const token: Token = { mint, program: TOKEN_PROGRAM };
  const feeToken: Token = { mint: feeMint, program: TOKEN_2022_PROGRAM };
  const [payer, thief] = [new Payer(node), new Payer(node)];
  await Promise.all([
    openDeposits(sluice, stage.pool, stack.chainInfo, stage.signal),
    payer.fund(LAMPORTS, [token, feeToken], UNITS, stack.mintTo ?? undefined),
    thief.fund(LAMPORTS, [token], UNITS, stack.mintTo ?? undefined),
  ]);
  await sluice.assets.put(mint, { minimumDeposit: MIN_DEPOSIT.toString() });
  const run = Date.now().toString(36);
  const users = ['alice', 'bob', 'carol'].map((name) => sluice.depositAddresses.assign(`${name}-${run}`));
  const [alice = '', bob = '', carol = ''] = (await Promise.all(users)).map(({ address }) => address);
  return {
    payments: [
      ...genuineDeposits(payer, token, feeToken, { alice, bob, carol }),
      ...falseDeposits(thief, token, { alice, bob }),
    ],
    crash: (attempt) =>
      sol(payer, 'SOL, scanner killed before the credit', bob, 40_000_000n + BigInt(attempt)),
    wallets: new Set([alice, bob, carol]),
  };
}

type Users<Name extends string> = Readonly<Record<Name, string>>;

function genuineDeposits(
  from: Payer,
  token: Token,
  feeToken: Token,
  { alice, bob, carol }: Users<'alice' | 'bob' | 'carol'>,
): readonly DepositTransaction[] {
  const sent = 50_000_000n;
  const oneTransaction: readonly PlannedTransfer[] = [
    transfer('SOL to bob, in the same transaction as the next two', bob, 'SOL', 30_000_000n),
    transfer('SOL to carol, in the same transaction', carol, 'SOL', 30_000_001n),
    transfer('token to carol, in the same transaction', carol, token.mint, MIN_DEPOSIT),
  ];
  return [
    sol(from, 'SOL', alice, 1_500_000_000n),
    sol(from, 'SOL, the same user again', alice, 2_000_000n),
    {
      from,
      drafts: [from.tokens(token, alice, 12_500_000n)],
      transfers: [transfer('token to a wallet without a token account', alice, token.mint, 12_500_000n)],
    },
    {
      from,
      drafts: [from.tokens(feeToken, bob, sent)],
      transfers: [
        {
          ...transfer('Token-2022 with a transfer fee', bob, feeToken.mint, sent),
          received: sent - sent / FEE_DIVISOR,
        },
      ],
    },
    {
      from,
      drafts: [
        from.lamports(bob, 30_000_000n),
        from.lamports(carol, 30_000_001n),
        from.tokens(token, carol, MIN_DEPOSIT),
      ],
      transfers: oneTransaction,
    },
  ];
}

/** Hands over the token account last, because the other transfers are paid from it. */
function falseDeposits(
  from: Payer,
  token: Token,
  { alice, bob }: Users<'alice' | 'bob'>,
): readonly DepositTransaction[] {
  const counterfeitMint = from.mintCounterfeit(alice, UNITS);
  const fake = (what: string, reason: NotCreditedReason, draft: Draft, sent: bigint, mint = token.mint) => ({
    from,
    drafts: [draft],
    transfers: [{ ...transfer(what, alice, mint, sent), reason }],
  });
  const failing = { ...transfer('SOL, in a transaction that fails', bob, 'SOL', 5_000_000n), received: 0n };
  const smallAmount = MIN_DEPOSIT - 1n;
  const toOtherAccount = 3_000_000n;
  const remainder = UNITS - smallAmount - toOtherAccount;
  return [
    fake('counterfeit token', 'unknown_mint', counterfeitMint, UNITS, counterfeitMint.token.mint),
    fake('token, below the minimum', 'below_minimum', from.tokens(token, alice, smallAmount), smallAmount),
    fake(
      'token, to an account that is not the associated one',
      'not_associated_account',
      from.tokensToOtherAccount(token, alice, toOtherAccount),
      toOtherAccount,
    ),
    { from, drafts: [from.lamports(bob, failing.sent), from.lamports(bob, LAMPORTS)], transfers: [failing] },
    fake(
      'token account whose owner is changed to the user',
      'owner_changed',
      from.handOverAccount(token, alice),
      remainder,
    ),
  ];
}

function sol(from: Payer, what: string, wallet: string, lamports: bigint): DepositTransaction {
  return {
    from,
    drafts: [from.lamports(wallet, lamports)],
    transfers: [transfer(what, wallet, 'SOL', lamports)],
  };
}

function transfer(what: string, wallet: string, asset: string, sent: bigint): PlannedTransfer {
  return { what, wallet, asset, sent, received: sent, reason: null };
}
