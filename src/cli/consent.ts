import { createInterface } from 'node:readline';
import { Interrupted, UsageError } from './exit.ts';

/** Asks for a confirmation on a terminal; without a terminal, requires `--yes`. Throws Interrupted if refused. */
export async function requireConsent(
  { yes }: { readonly yes?: true | undefined },
  effect: string,
): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY) throw new UsageError(`${effect}; add --yes to confirm`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    terminal.once('close', () => resolve(''));
    terminal.question(`${effect}. Continue? [y/N] `, resolve);
  });
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Interrupted('not confirmed; nothing was changed');
}
