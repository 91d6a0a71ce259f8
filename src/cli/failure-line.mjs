// Failure output in JSON format: stdout still ends with one JSON object.

const JSON_OPTION = /^(--json|-o=?json|--output=json)$/;

/**
 * True if the options in `args` select JSON output. Arguments after `--` are not options.
 * @param {readonly string[]} args
 */
export function wantsJson(args) {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).some(
    (arg, at) => JSON_OPTION.test(arg) || (arg === 'json' && /^(-o|--output)$/.test(args[at - 1] ?? '')),
  );
}

/** The JSON line of a failure. @param {string} code @param {string} message */
export function failureLine(code, message) {
  return `${JSON.stringify({ ok: false, error: { code, message } })}\n`;
}
