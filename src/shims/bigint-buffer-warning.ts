/* oxlint-disable no-console -- bigint-buffer warns through it */

/** bigint-buffer prints this warning if npm did not compile its native bindings, although it works without them. */
const WARNING_PREFIX = 'bigint: Failed to load bindings';

const { warn } = console;

// Modules are evaluated in import order, so this module must be imported before bigint-buffer.
console.warn = (...data: unknown[]): void => {
  if (!String(data[0]).startsWith(WARNING_PREFIX)) warn.apply(console, data);
};

/** Restores the `console.warn` that this module has replaced. */
export function restoreWarnings(): void {
  console.warn = warn;
}
