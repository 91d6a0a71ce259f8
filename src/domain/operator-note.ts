/** The author and the reason of an operator's command, which are stored with it. */
export interface OperatorNote {
  readonly actor: string;
  readonly reason: string;
}
