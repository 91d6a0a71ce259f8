import { type Command, Option } from '@commander-js/extra-typings';
import type { Payment, Revenue } from '../client/client.ts';
import { formatUnits } from '../domain/amount.ts';
import { PAYMENT_STATES } from '../domain/payment.ts';
import { apiCommand, type Columns, call, list, REASON_OPTION, table, withPageOptions } from './command.ts';
import { EXIT } from './exit.ts';
import { renderPayment } from './render-payment.ts';

const COLUMNS: Columns<Payment> = {
  created: ({ createdAt }) => createdAt,
  state: ({ state, reason }) => (reason === null ? state : `${state} (${reason})`),
  amount: ({ amount, decimals }) => formatUnits(BigInt(amount), decimals),
  asset: ({ asset }) => asset,
  route: ({ route }) => route,
  payer: ({ payer }) => payer,
  signature: ({ signature }) => signature ?? '',
};

type RevenueEntry = Revenue['revenue'][number];

const SUMS: Columns<RevenueEntry> = {
  asset: ({ asset }) => asset,
  finalized: ({ finalized }) => finalized.amount,
  'finalized payments': ({ finalized }) => String(finalized.payments),
  confirmed: ({ confirmed }) => confirmed.amount,
  'confirmed payments': ({ confirmed }) => String(confirmed.payments),
};

export function registerPayments(program: Command): void {
  const payments = program
    .command('payments')
    .description('List, show and sum up x402 payments, and revoke their access passes');
  withPageOptions(
    apiCommand(payments, 'list', 'List x402 payments, newest first')
      .addOption(new Option('--state <state>', 'Only payments in this state').choices(PAYMENT_STATES))
      .option(...ROUTE_OPTION)
      .option(...PAYER_OPTION)
      .option(...MINT_OPTION)
      .addOption(sellerOption())
      .option(...FROM_OPTION)
      .option(...TO_OPTION),
  ).action(({ state, route, payer, asset, seller, from, to, ...options }) => {
    const filter = { state, route, payer, asset, seller, from, to };
    return list(options, 'payments', COLUMNS, (sluice, page) => sluice.payments.page(filter, page));
  });
  apiCommand(
    payments,
    'get',
    'Show an x402 payment, its access pass, its settlement, its attempts and its alerts',
  )
    .argument('<id>', 'Payment ID, message hash or signature')
    .action((id, options) => call(options, (sluice) => sluice.payments.get(id), renderPayment));
  apiCommand(payments, 'revoke', 'Revoke the access pass of an x402 payment for good')
    .argument('<id>', 'Payment ID, message hash or signature')
    .requiredOption(...REASON_OPTION)
    .action((id, options) =>
      call(
        options,
        async (sluice) => {
          const { accessPass } = await sluice.payments.get(id);
          return {
            revoked: await sluice.payments.revokePass(id, options.reason),
            hasPass: accessPass !== null,
          };
        },
        (revocation) => renderRevocation(id, revocation),
        ({ revoked }) => (revoked ? EXIT.ok : EXIT.refused),
      ),
    );
  registerRevenue(payments);
}

interface Revocation {
  readonly revoked: boolean;
  readonly hasPass: boolean;
}

function renderRevocation(id: string, { revoked, hasPass }: Revocation): string {
  if (!hasPass)
    return `payment ${id} has no access pass, and ${revoked ? 'will get none' : 'its revocation was stored before'}`;
  return revoked ? `revoked the access pass of ${id}` : `the access pass of ${id} was revoked before`;
}

function registerRevenue(payments: Command): void {
  apiCommand(payments, 'revenue', 'Sum up the payments that are served or owed; default: of the last 30 days')
    .addOption(
      new Option('--by <keys>', 'Separate sums for each route, for each UTC day, or both').choices([
        'route',
        'day',
        'route,day',
        'day,route',
      ] as const),
    )
    .option(...ROUTE_OPTION)
    .option(...PAYER_OPTION)
    .option(...MINT_OPTION)
    .addOption(sellerOption())
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .action(({ by, route, payer, asset, seller, from, to, ...options }) => {
      const query = { by, route, payer, asset, seller, from, to };
      return call(options, (sluice) => sluice.payments.revenue(query), renderRevenue);
    });
}

const ROUTE_OPTION = ['--route <id>', "Only payments of this route, such as 'GET /reports/:id'"] as const;
const PAYER_OPTION = ['--payer <wallet>', 'Only payments of this wallet'] as const;
const MINT_OPTION = [
  '--asset <asset>',
  'Only payments in this token: USDC, or the address of a mint',
] as const;
const FROM_OPTION = ['--from <time>', 'Only payments from this UTC date or ISO 8601 time on'] as const;
const TO_OPTION = ['--to <time>', 'Only payments before this UTC date or ISO 8601 time'] as const;

function sellerOption() {
  return new Option('--seller <seller>', 'Only payments that this part of Sluice received').choices([
    'gateway',
    'facilitator',
  ] as const);
}

function renderRevenue({ from, to, revenue }: Revenue): string {
  const has = (key: 'day' | 'route') => revenue.some((row) => row[key] !== null);
  const columns: Columns<RevenueEntry> = {
    ...(has('day') ? { day: ({ day }: RevenueEntry) => day ?? '' } : {}),
    ...(has('route') ? { route: ({ route }: RevenueEntry) => route ?? '' } : {}),
    ...SUMS,
  };
  return `${from} to ${to}\n${table('payments', columns, revenue)}`;
}
