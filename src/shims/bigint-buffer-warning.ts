/* oxlint-disable no-console -- bigint-buffer warns through it */

/** bigint-buffer prints this where npm did not compile its bindings. It works without them. */
const WARNING = 'bigint: Failed to load bindings';

const { warn } = console;

// In effect from here on: imports are evaluated in their order.
console.warn = (...data: unknown[]): void => {
  if (!String(data[0]).startsWith(WARNING)) warn.apply(console, data);
};

/** Ends the omission of the warning, which begins as this module is loaded. */
export function restoreWarnings(): void {
  console.warn = warn;
}
