import type { WireTransaction } from '../encoding/wire.ts';

const KEPT = 20_000;

/** The signed transactions that senders have handed to any node, dropped ones too; the newest are kept. */
export class Offered {
  readonly #bySignature = new Map<string, WireTransaction>();

  add(transaction: WireTransaction): void {
    this.#bySignature.set(transaction.signature, transaction);
    const [oldest] = this.#bySignature.keys();
    if (this.#bySignature.size > KEPT && oldest !== undefined) this.#bySignature.delete(oldest);
  }

  /** Those that name the address, oldest first. */
  naming(address: string): readonly WireTransaction[] {
    return [...this.#bySignature.values()].filter(({ message }) => message.keys.includes(address));
  }
}
