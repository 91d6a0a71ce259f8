/** True if the options in `args` select JSON output. Arguments after `--` are not options. */
export function wantsJson(args: readonly string[]): boolean;

/** The JSON line of a failure: `{"ok":false,"error":{"code","message"}}`, with a line end. */
export function failureLine(code: string, message: string): string;
