import { type Command, Option } from '@commander-js/extra-typings';
import type { Payment } from '../client/client.ts';
import { PAYMENT_STATES } from '../domain/payment.ts';
import { apiCommand, type Columns, call, list, REASON_OPTION, show, withPageOptions } from './command.ts';
import { EXIT } from './exit.ts';

const COLUMNS: Columns<Payment> = {
  created: ({ createdAt }) => createdAt,
  state: ({ state, reason }) => (reason === null ? state : `${state} (${reason})`),
  'base units': ({ amount }) => amount,
  asset: ({ asset }) => asset,
  route: ({ route }) => route,
  payer: ({ payer }) => payer,
  signature: ({ signature }) => signature ?? '',
};

export function registerPayments(program: Command): void {
  const payments = program
    .command('payments')
    .description('List and show x402 payments, and revoke their access passes');
  withPageOptions(
    apiCommand(payments, 'list', 'List x402 payments, newest first').addOption(
      new Option('--state <state>', 'Only payments in this state').choices(PAYMENT_STATES),
    ),
  ).action(({ state, ...options }) =>
    list(options, 'payments', COLUMNS, (sluice, page) => sluice.payments.page({ state }, page)),
  );
  apiCommand(payments, 'get', 'Show an x402 payment')
    .argument('<id>', 'Payment ID, message hash or signature')
    .action((id, options) => show(options, 'payments', COLUMNS, (sluice) => sluice.payments.get(id)));
  apiCommand(payments, 'revoke', 'Revoke the access pass of an x402 payment for good')
    .argument('<id>', 'Payment ID, message hash or signature')
    .requiredOption(...REASON_OPTION)
    .action((id, options) =>
      call(
        options,
        async (sluice) => ({ revoked: await sluice.payments.revokePass(id, options.reason) }),
        ({ revoked }) =>
          revoked ? `revoked the access pass of ${id}` : `the access pass of ${id} was revoked before`,
        ({ revoked }) => (revoked ? EXIT.ok : EXIT.refused),
      ),
    );
}
