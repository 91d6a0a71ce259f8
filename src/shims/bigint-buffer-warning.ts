/* oxlint-disable no-console -- bigint-buffer warns through it */

/** bigint-buffer prints this warning if npm did not compile its bindings; it works without them. */
const WARNING_PREFIX = 'bigint: Failed to load bindings';

const { warn } = console;

// Takes effect when this module is evaluated; imports are evaluated in order.
console.warn = (...data: unknown[]): void => {
  if (!String(data[0]).startsWith(WARNING_PREFIX)) warn.apply(console, data);
};

/** Restores `console.warn`, which this module replaces when it is loaded. */
export function restoreWarnings(): void {
  console.warn = warn;
}
