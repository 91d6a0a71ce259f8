import { TtlCache } from '../../solana/rpc/ttl-cache.ts';
import type { CheckedPayment } from '../record.ts';
import { type Trial, type TrialDeps, tryPayment } from '../trial.ts';

type Accepted = Extract<Trial, { kind: 'accepted' }>;

/** Servers call `/settle` directly after `/verify`, or after a short handler. */
const REUSED_MS = 2_000;

class NotAccepted extends Error {
  readonly trial: Trial;

  constructor(trial: Trial) {
    super(trial.kind);
    this.trial = trial;
  }
}

/** Shares simulations of one message: among concurrent calls, and for two seconds after a node accepted it. */
export class Simulations {
  readonly #deps: TrialDeps;
  readonly #accepted = new TtlCache<Accepted>(REUSED_MS, 1_000, 'answered');

  constructor(deps: TrialDeps) {
    this.#deps = deps;
  }

  async of(checked: Pick<CheckedPayment, 'wire' | 'payment'>): Promise<Trial> {
    try {
      return await this.#accepted.get(checked.payment.messageHash, async () => {
        const trial = await tryPayment(this.#deps, checked);
        if (trial.kind !== 'accepted') throw new NotAccepted(trial);
        return trial;
      });
    } catch (error) {
      if (error instanceof NotAccepted) return error.trial;
      throw error;
    }
  }
}
