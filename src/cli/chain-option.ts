import { Option } from '@commander-js/extra-typings';

/** Which chain `dev` and `demo` start. */
export function chainOption() {
  return new Option(
    '--chain <kind>',
    'localnet (default), or validator: a real solana-test-validator of PATH, one node',
  ).choices(['localnet', 'validator'] as const);
}
