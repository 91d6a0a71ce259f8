// How a program that was asked for JSON ends when it fails: stdout still closes with one JSON object.

const JSON_OPTION = /^(--json|-o=?json|--output=json)$/;

/** Whether the options in `args` ask for JSON; what follows `--` is no option. @param {readonly string[]} args */
export function wantsJson(args) {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).some(
    (arg, at) => JSON_OPTION.test(arg) || (arg === 'json' && /^(-o|--output)$/.test(args[at - 1] ?? '')),
  );
}

/** The line that stands for a failure. @param {string} code @param {string} message */
export function failureLine(code, message) {
  return `${JSON.stringify({ ok: false, error: { code, message } })}\n`;
}
