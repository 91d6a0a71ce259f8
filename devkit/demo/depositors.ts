import type { NotCreditedReason } from '../../src/client/client.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { mintsOf } from '../localstack/chain.ts';
import { type Draft, Payer, type Token } from '../localstack/payer.ts';
import { openDeposits } from './development-pool.ts';
import type { Stage } from './stage.ts';

export interface Gift {
  readonly what: string;
  readonly wallet: string;
  readonly asset: string;
  readonly sent: bigint;
  /** Less than `sent` where the token withholds a fee; 0 where the transaction fails. */
  readonly arrives: bigint;
  /** Why it is not the user's to have; null where it is. */
  readonly reason: NotCreditedReason | null;
}

export interface Payment {
  readonly from: Payer;
  readonly steps: readonly Draft[];
  readonly gifts: readonly Gift[];
}

export interface Depositors {
  readonly payments: readonly Payment[];
  /** The deposit that loses the scanner; each attempt pays another amount. */
  readonly crash: (attempt: number) => Payment;
  readonly wallets: ReadonlySet<string>;
}

const LAMPORTS = 2_000_000_000n;
const UNITS = 100_000_000n;
const LEAST = 1_000_000n;
const FEE_DIVISOR = 100n;

/** Imports the pool, lists the assets, gives three users an address each, and funds those who pay. */
export async function meetDepositors(stage: Stage): Promise<Depositors> {
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
  await sluice.assets.put(mint, { minimumDeposit: LEAST.toString() });
  const run = Date.now().toString(36);
  const users = ['alice', 'bob', 'carol'].map((name) => sluice.depositAddresses.assign(`${name}-${run}`));
  const [alice = '', bob = '', carol = ''] = (await Promise.all(users)).map(({ address }) => address);
  return {
    payments: [
      ...honest(payer, token, feeToken, { alice, bob, carol }),
      ...fakes(thief, token, { alice, bob }),
    ],
    crash: (attempt) =>
      sol(payer, 'SOL, scanner killed before the credit', bob, 40_000_000n + BigInt(attempt)),
    wallets: new Set([alice, bob, carol]),
  };
}

type Users<Name extends string> = Readonly<Record<Name, string>>;

function honest(
  from: Payer,
  token: Token,
  feeToken: Token,
  { alice, bob, carol }: Users<'alice' | 'bob' | 'carol'>,
): readonly Payment[] {
  const sent = 50_000_000n;
  const together: readonly Gift[] = [
    gift('SOL to bob, in one transaction with the next two', bob, 'SOL', 30_000_000n),
    gift('SOL to carol, in the same transaction', carol, 'SOL', 30_000_001n),
    gift('token to carol, in the same transaction', carol, token.mint, LEAST),
  ];
  return [
    sol(from, 'SOL', alice, 1_500_000_000n),
    sol(from, 'SOL, the same user again', alice, 2_000_000n),
    {
      from,
      steps: [from.tokens(token, alice, 12_500_000n)],
      gifts: [gift('token, to a wallet without a token account', alice, token.mint, 12_500_000n)],
    },
    {
      from,
      steps: [from.tokens(feeToken, bob, sent)],
      gifts: [
        {
          ...gift('Token-2022 with a transfer fee', bob, feeToken.mint, sent),
          arrives: sent - sent / FEE_DIVISOR,
        },
      ],
    },
    {
      from,
      steps: [
        from.lamports(bob, 30_000_000n),
        from.lamports(carol, 30_000_001n),
        from.tokens(token, carol, LEAST),
      ],
      gifts: together,
    },
  ];
}

/** The account that is handed over comes last: it is the one that the thief pays from. */
function fakes(from: Payer, token: Token, { alice, bob }: Users<'alice' | 'bob'>): readonly Payment[] {
  const counterfeit = from.mintCounterfeit(alice, UNITS);
  const fake = (what: string, reason: NotCreditedReason, steps: Draft, sent: bigint, mint = token.mint) => ({
    from,
    steps: [steps],
    gifts: [{ ...gift(what, alice, mint, sent), reason }],
  });
  const failing = { ...gift('SOL, in a transaction that fails', bob, 'SOL', 5_000_000n), arrives: 0n };
  const few = LEAST - 1n;
  const aside = 3_000_000n;
  const rest = UNITS - few - aside;
  return [
    fake('counterfeit token', 'unknown_mint', counterfeit, UNITS, counterfeit.token.mint),
    fake('token, below the minimum', 'below_minimum', from.tokens(token, alice, few), few),
    fake(
      'token, to an account that is not the associated one',
      'not_associated_account',
      from.tokensToOtherAccount(token, alice, aside),
      aside,
    ),
    { from, steps: [from.lamports(bob, failing.sent), from.lamports(bob, LAMPORTS)], gifts: [failing] },
    fake(
      'token account given to the user by a change of owner',
      'owner_changed',
      from.handOverAccount(token, alice),
      rest,
    ),
  ];
}

function sol(from: Payer, what: string, wallet: string, lamports: bigint): Payment {
  return { from, steps: [from.lamports(wallet, lamports)], gifts: [gift(what, wallet, 'SOL', lamports)] };
}

function gift(what: string, wallet: string, asset: string, sent: bigint): Gift {
  return { what, wallet, asset, sent, arrives: sent, reason: null };
}
