import type { Chain } from '../../solana/chain.ts';
import type { BlockhashHint } from '../formats/v2.ts';

/** A blockhash for buyers, shared by all quotes of some seconds: a 402 costs no question to a node. */
export class SharedBlockhash {
  readonly #chain: Pick<Chain, 'latestBlockhash'>;

  constructor(chain: Pick<Chain, 'latestBlockhash'>) {
    this.#chain = chain;
  }

  /** Null where no node answers: buyers ask for one themselves then. */
  async get(): Promise<BlockhashHint | null> {
    const latest = await this.#chain.latestBlockhash().catch(() => null);
    return latest && { blockhash: latest.blockhash, lastValidBlockHeight: latest.lastValidBlockHeight };
  }
}
