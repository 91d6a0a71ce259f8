/** Whether the options in `args` ask for JSON; what follows `--` is no option. */
export function wantsJson(args: readonly string[]): boolean;

/** The line that stands for a failure: `{"ok":false,"error":{"code","message"}}`, with its line end. */
export function failureLine(code: string, message: string): string;
