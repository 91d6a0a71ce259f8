/** The stored author and reason of an order. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}
