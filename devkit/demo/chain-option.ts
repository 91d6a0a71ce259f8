import { Option } from '@commander-js/extra-typings';

/** Which chain `dev` and `demo` start. */
export function chainOption() {
  return new Option(
    '--chain <kind>',
    'Chain to start: localnet (default), or validator, a solana-test-validator from PATH',
  ).choices(['localnet', 'validator'] as const);
}
