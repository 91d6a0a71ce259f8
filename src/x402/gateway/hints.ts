import type { Chain } from '../../solana/chain.ts';
import type { BlockhashHint } from '../formats/v2.ts';

/** A cached blockhash for quotes, so that a 402 needs no node call. */
export class SharedBlockhash {
  readonly #chain: Pick<Chain, 'latestBlockhash'>;

  constructor(chain: Pick<Chain, 'latestBlockhash'>) {
    this.#chain = chain;
  }

  /** Null if no node answers: buyers then fetch a blockhash themselves. */
  async get(): Promise<BlockhashHint | null> {
    const latest = await this.#chain.latestBlockhash().catch(() => null);
    return latest && { blockhash: latest.blockhash, lastValidBlockHeight: latest.lastValidBlockHeight };
  }
}
