// How a program that was given `--json` ends when it cannot do its work: stdout still closes with one JSON object.

/** Whether `args` hold the option `--json`; what follows `--` is no option. @param {readonly string[]} args */
export function wantsJson(args) {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

/** The line that stands for a failure. @param {string} code @param {string} message */
export function failureLine(code, message) {
  return `${JSON.stringify({ ok: false, error: { code, message } })}\n`;
}
