/** The proof, in the log of a process that ended itself, that this end was the one asked for. */
export function lastWords(at: string): string {
  return `ends here: ${at}`;
}

/** The line by which a worker says that a step of a withdrawal failed because a test asked for it. */
export function stepFails(id: string, point: string): string {
  return `step fails: ${id} ${point}`;
}
