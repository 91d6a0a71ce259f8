import type { Chain } from '../../solana/chain.ts';
import { TtlCache } from '../../solana/ttl-cache.ts';
import { type Trial, tryPayment } from '../trial.ts';

type Accepted = Extract<Trial, { kind: 'accepted' }>;

/** Servers call `/settle` at once after `/verify`, or after a short handler. */
const REUSED_MS = 2_000;

class NotAccepted extends Error {
  readonly trial: Trial;

  constructor(trial: Trial) {
    super(trial.kind);
    this.trial = trial;
  }
}

/** One simulation for all calls with the same message: at once, and for two seconds after a node has accepted it. */
export class Simulations {
  readonly #chain: Pick<Chain, 'simulateAsIs' | 'latestBlockhash'>;
  readonly #accepted = new TtlCache<Accepted>(REUSED_MS, 1_000, 'answered');

  constructor(chain: Pick<Chain, 'simulateAsIs' | 'latestBlockhash'>) {
    this.#chain = chain;
  }

  async of(messageHash: string, wire: Uint8Array): Promise<Trial> {
    try {
      return await this.#accepted.get(messageHash, async () => {
        const trial = await tryPayment(this.#chain, wire);
        if (trial.kind !== 'accepted') throw new NotAccepted(trial);
        return trial;
      });
    } catch (error) {
      if (error instanceof NotAccepted) return error.trial;
      throw error;
    }
  }
}
