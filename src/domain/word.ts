/** Who does something, and why: kept on record. */
export interface Word {
  readonly who: string;
  readonly why: string;
}
