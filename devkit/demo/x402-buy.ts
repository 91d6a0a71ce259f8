import { readFileSync } from 'node:fs';
import { type Command, Option } from '@commander-js/extra-typings';
import { localCommand } from '../../src/cli/command.ts';
import { DEV_FILE, missingSetting, readDevFile } from '../../src/cli/dev-file.ts';
import { EXIT, UsageError } from '../../src/cli/exit.ts';
import { type Output, type OutputOptions, run } from '../../src/cli/output.ts';
import type { PaymentForm } from '../localstack/buyer.ts';

const FORMS: readonly PaymentForm[] = ['v2', 'v1', 'example', 'submitted'];
const KEY_BYTES = 64;

interface BuyOptions extends OutputOptions {
  readonly key?: string | undefined;
  readonly form: PaymentForm;
}

export function registerBuy(x402: Command): void {
  localCommand(x402, 'buy', 'Buy one answer, in development: get the price, pay, present the payment')
    .argument('<url>', 'URL that answers 402')
    .option('--key <file>', `Key of the buyer, a solana-keygen file (default: the buyer in ${DEV_FILE})`)
    .addOption(new Option('--form <form>', 'Payment format').choices(FORMS).default('v2' as PaymentForm))
    .action((url, options) => run(options, (output) => buy(url, options, output)));
}

async function buy(url: string, { key, form }: BuyOptions, output: Output): Promise<number> {
  if (!URL.canParse(url)) throw new UsageError(`${url} is not a URL`);
  const dev = readDevFile();
  const [rpcUrl] = process.env.SLUICE_RPC_URLS?.split(',') ?? dev.rpcUrls ?? [];
  if (rpcUrl === undefined) throw missingSetting('SLUICE_RPC_URLS');
  const keyFile = key ?? dev.sales?.buyerKeyFile;
  if (keyFile === undefined)
    throw new UsageError(
      `no buyer's key file is set: use --key, or start "npm run dev", which writes ${DEV_FILE}`,
    );
  const secretKey = readKey(keyFile);
  const { fetchTerms, pay, presentPayment, paymentSignature } = await import('../localstack/buyer.ts');
  const headers = await pay(form, await fetchTerms(url), secretKey, rpcUrl.trim());
  const response = await presentPayment(url, headers);
  const body = await response.text();
  const signature = paymentSignature(response);
  const explorer = signature && explorerOf(signature, rpcUrl.trim());
  const facts = { ok: response.ok, status: response.status, form, body, signature, explorer };
  output.result(
    facts,
    [
      `status     ${response.status}`,
      `signature  ${signature ?? 'none'}`,
      `explorer   ${explorer ?? 'none'}`,
      '',
      body,
    ].join('\n'),
  );
  return response.ok ? EXIT.ok : EXIT.failure;
}

function readKey(path: string): Uint8Array {
  const bytes: unknown = JSON.parse(readText(path));
  if (!Array.isArray(bytes) || bytes.length !== KEY_BYTES)
    throw new UsageError(`${path} is not a solana-keygen file of ${KEY_BYTES} bytes`);
  return Uint8Array.from(bytes as number[]);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${path} cannot be read`);
  }
}

/** URL of the transaction in the Solana Explorer. The browser then reads it from the development node `rpcUrl`. */
function explorerOf(signature: string, rpcUrl: string): string {
  return `https://explorer.solana.com/tx/${signature}?cluster=custom&customUrl=${encodeURIComponent(rpcUrl)}`;
}
