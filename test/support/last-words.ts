/** The proof, in the log of a process that ended itself, that this end was the one asked for. */
export function lastWords(at: string): string {
  return `ends here: ${at}`;
}
