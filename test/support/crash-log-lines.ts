/** The log line that proves that a process killed itself at its crash point. */
export function crashLine(at: string): string {
  return `ends here: ${at}`;
}

/** The log line of a worker whose step of a withdrawal failed because a test asked for it. */
export function failureLine(id: string, point: string): string {
  return `step fails: ${id} ${point}`;
}
