import type { Outcome } from './audit.ts';

const SIGNATURE_LAMPORTS = 5_000n;
/**
 * The most that priority may cost the first attempt of a payment while no other user pays on the chain: twice the floor of 1,000 micro-lamports
 * for 125,000 compute units. Each further attempt may offer twice as much as the one before.
 */
const IDLE_PRIORITY_LAMPORTS = 250n;

/** One line for each payment that cost more than an idle chain asks for, which is far below the configured maximum. */
export function feeFindings(
  outcomes: readonly Outcome[],
  feeOf: Readonly<Record<string, bigint>>,
): readonly string[] {
  return outcomes.flatMap(({ terms, signatures }) =>
    signatures.flatMap((signature, attempt) => {
      const fee = feeOf[signature];
      const most = SIGNATURE_LAMPORTS + (IDLE_PRIORITY_LAMPORTS << BigInt(attempt));
      return fee === undefined || fee <= most
        ? []
        : [`${terms.id} paid a fee of ${fee} lamports for ${signature}, more than ${most} on an idle chain`];
    }),
  );
}
