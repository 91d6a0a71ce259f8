import { readFileSync } from 'node:fs';
import { type Command, Option } from '@commander-js/extra-typings';
import { base58 } from '@scure/base';
import { localCommand } from '../../src/cli/command.ts';
import { DEV_FILE, missingSetting, readDevFile } from '../../src/cli/dev-file.ts';
import { EXIT, UsageError } from '../../src/cli/exit.ts';
import { type Output, type OutputOptions, run } from '../../src/cli/output.ts';
import { isTransientFailure } from '../../src/domain/http-status.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import type { PaymentForm, SellerTerms } from '../localstack/buyer.ts';
import type { KeptPayment } from './kept-payment.ts';

const FORMS: readonly PaymentForm[] = ['v2', 'v1', 'example', 'submitted'];
const KEY_BYTES = 64;

interface BuyOptions extends OutputOptions {
  readonly key?: string | undefined;
  readonly form: PaymentForm;
  readonly asset?: string | undefined;
  readonly resume?: true | undefined;
}

export function registerBuy(x402: Command): void {
  localCommand(x402, 'buy', 'Buy one answer, in development: get the price, pay, present the payment')
    .argument('<url>', 'URL that answers 402')
    .option('--key <file>', `Key of the buyer, a solana-keygen file (default: the buyer in ${DEV_FILE})`)
    .option('--resume', 'Present the kept payment of an earlier call again, and sign no new one')
    .option('--asset <mint>', 'Token to pay with, of those that the seller offers (default: the first one)')
    .addOption(new Option('--form <form>', 'Payment format').choices(FORMS).default('v2' as PaymentForm))
    .action((url, options) => run(options, (output) => buy(url, options, output)));
}

/**
 * Signs a payment, keeps it in a file, and presents it. The file remains until the seller has decided, so that a lost
 * answer never leads to a second payment.
 */
async function buy(url: string, options: BuyOptions, output: Output): Promise<number> {
  if (!URL.canParse(url)) throw new UsageError(`${url} is not a URL`);
  const [rpcUrl] = process.env.SLUICE_RPC_URLS?.split(',') ?? readDevFile().rpcUrls ?? [];
  if (rpcUrl === undefined) throw missingSetting('SLUICE_RPC_URLS');
  const kept = await import('./kept-payment.ts');
  const { accessPass, paymentSignature, presentPayment, submit } = await import('../localstack/buyer.ts');
  const payment =
    options.resume === true ? kept.readKeptPayment(url) : await signAndKeep(url, options, rpcUrl.trim());
  const transaction = Buffer.from(payment.transaction, 'base64');
  const { hash, signature: knownSignature } = describePayment(transaction);
  output.progress(`payment    ${hash}`);
  output.progress(`signature  ${knownSignature ?? 'made by the seller'}`);
  if (payment.form === 'submitted') await submit(transaction, rpcUrl.trim());
  const response = await presentPayment(url, payment.headers).catch((error: unknown) => {
    throw new Error(`${url} did not answer: repeat the command with --resume`, { cause: error });
  });
  const body = await response.text();
  const isDecided = isFinalAnswer(response, body);
  if (isDecided) kept.forgetPayment(url);
  const signature = paymentSignature(response) ?? knownSignature;
  const explorer = signature && explorerOf(signature, rpcUrl.trim());
  const { form } = payment;
  const pass = accessPass(response);
  const { ok, status } = response;
  const facts = { ok, status, form, payment: hash, body, signature, explorer, pass };
  output.result(
    facts,
    [
      `status     ${status}`,
      `signature  ${signature ?? 'none'}`,
      `explorer   ${explorer ?? 'none'}`,
      ...(pass === null ? [] : [`pass       ${pass}`]),
      ...(isDecided ? [] : ['next       repeat the command with --resume']),
      '',
      body,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failure;
}

async function signAndKeep(
  url: string,
  { key, form, asset }: BuyOptions,
  rpcUrl: string,
): Promise<KeptPayment> {
  const keyFile = key ?? readDevFile().sales?.buyerKeyFile;
  if (keyFile === undefined)
    throw new UsageError(
      `no buyer's key file is set: use --key, or start "npm run dev", which writes ${DEV_FILE}`,
    );
  const secretKey = readKey(keyFile);
  const { checkNoPaymentKept, keepPayment } = await import('./kept-payment.ts');
  const { signPayment } = await import('../localstack/buyer.ts');
  checkNoPaymentKept(url);
  const { headers, transaction } = await signPayment(form, await termsOf(url, asset), secretKey, rpcUrl);
  const payment = { url, form, headers, transaction: Buffer.from(transaction).toString('base64') };
  keepPayment(payment);
  return payment;
}

/** The seller's terms; for this asset alone, if it is set. */
async function termsOf(url: string, asset: string | undefined): Promise<SellerTerms> {
  const { fetchTerms, offeredAssets, termsFor } = await import('../localstack/buyer.ts');
  const terms = await fetchTerms(url);
  if (asset === undefined) return terms;
  const offered = offeredAssets(terms);
  if (!offered.includes(asset))
    throw new UsageError(`${url} is not sold for ${asset}: use --asset with one of ${offered.join(', ')}`);
  return termsFor(terms, asset);
}

/** The hash that identifies the payment at the seller; and the signature, unless the seller's fee payer makes it. */
function describePayment(transaction: Uint8Array): {
  readonly hash: string;
  readonly signature: string | null;
} {
  const signed = readSigned(transaction);
  const [first] = signed?.signatures ?? [];
  if (signed === null || first === undefined) throw new Error('the signed transaction cannot be read');
  return {
    hash: messageHashOf(signed.message),
    signature: first.some((byte) => byte !== 0) ? base58.encode(first) : null,
  };
}

/**
 * False if the seller can still settle or serve the payment: a 5xx, a 402 without terms, and an answer that asks for a
 * repetition.
 */
function isFinalAnswer({ status, headers }: Response, body: string): boolean {
  if (isTransientFailure(status)) return false;
  return status !== 402 || headers.has('payment-required') || body.includes('duplicate_settlement');
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
