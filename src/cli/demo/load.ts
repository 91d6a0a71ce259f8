/* oxlint-disable no-console -- somebody else's words are heard here, and none are spoken */
import type * as Scenario from './scenario.ts';

/** What bigint-buffer, below @solana/spl-token, says where npm could not compile it. Nothing is amiss, and its advice is none. */
const SLOWER = /^bigint: Failed to load bindings, pure JS will be used/;

/** Loads the scenario, and with it the packages of Solana, without that one line as the first of the demo. Other warnings are heard. */
export async function loadScenario(): Promise<typeof Scenario> {
  const { warn } = console;
  console.warn = (...said: unknown[]): void => {
    if (!SLOWER.test(String(said[0]))) warn.apply(console, said);
  };
  try {
    return await import('./scenario.ts');
  } finally {
    console.warn = warn;
  }
}
