import { randomBytes } from 'node:crypto';
import {
  ComputeBudgetProgram,
  Keypair,
  MessageV0,
  PublicKey,
  TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import {
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '../../../src/shims/spl-token.ts';
import { MEMO_PROGRAM } from '../../../src/solana/tx/programs.ts';

const DECIMALS = 6;

/** Payment requirements of version 2, as far as a buyer needs them. */
export interface Requirements {
  readonly asset: string;
  readonly amount: string;
  readonly payTo: string;
  readonly extra: {
    readonly feePayer: string;
    readonly recentBlockhash?: string;
    readonly [key: string]: unknown;
  };
  readonly [key: string]: unknown;
}

/** The terms in the header PAYMENT-REQUIRED of a 402. */
export function requirementsOf(response: Response): Requirements {
  const header = response.headers.get('payment-required');
  if (header === null) throw new Error(`${response.status} without PAYMENT-REQUIRED`);
  return JSON.parse(Buffer.from(header, 'base64').toString()).accepts[0];
}

/** Whether the extension payment-identifier of a 402 requires an identifier. */
function requiresIdentifier(response: Response): boolean {
  const required = JSON.parse(
    Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString(),
  );
  return required.extensions?.['payment-identifier']?.info.required === true;
}

/** The parsed header of a payment response. */
export function settlementOf(response: Response): Record<string, unknown> {
  const header = response.headers.get('payment-response') ?? response.headers.get('x-payment-response');
  return header === null ? {} : JSON.parse(Buffer.from(header, 'base64').toString());
}

/** Acts as a conforming buyer: sends the payment again while the gateway answers that he must wait. */
export async function fetchUntilSettled(
  url: string,
  headers: Record<string, string>,
  init: RequestInit = {},
): Promise<Response> {
  for (;;) {
    const response = await fetch(url, { ...init, headers });
    if (settlementOf(response)['errorReason'] !== 'settlement_pending') return response;
  }
}

/** A buyer who builds his payments himself, so that a test controls when they are sent. */
export class Customer {
  readonly keypair: Keypair;

  constructor(secretKey: Uint8Array) {
    this.keypair = Keypair.fromSecretKey(secretKey);
  }

  get address(): string {
    return this.keypair.publicKey.toBase58();
  }

  /** base64 of a transaction that pays these terms, without the signature of the fee payer. */
  transaction({ asset, amount, payTo, extra }: Requirements, memo = randomBytes(8).toString('hex')): string {
    const [mint, owner] = [new PublicKey(asset), this.keypair.publicKey];
    const source = getAssociatedTokenAddressSync(mint, owner);
    const destination = getAssociatedTokenAddressSync(mint, new PublicKey(payTo));
    const message = MessageV0.compile({
      payerKey: new PublicKey(extra.feePayer),
      recentBlockhash: extra.recentBlockhash ?? '',
      instructions: [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 20_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
        createTransferCheckedInstruction(source, mint, destination, owner, BigInt(amount), DECIMALS),
        new TransactionInstruction({
          programId: new PublicKey(MEMO_PROGRAM),
          keys: [],
          data: Buffer.from(memo),
        }),
      ],
    });
    const transaction = new VersionedTransaction(message);
    transaction.sign([this.keypair]);
    return Buffer.from(transaction.serialize()).toString('base64');
  }

  /** The header PAYMENT-SIGNATURE of a new payment for this URL. */
  async pays(url: string, init: RequestInit = {}, identifier?: string): Promise<Record<string, string>> {
    const response = await fetch(url, init);
    const accepted = requirementsOf(response);
    return this.shows(accepted, this.transaction(accepted), identifier, requiresIdentifier(response));
  }

  shows(
    accepted: Requirements,
    transaction: string,
    identifier?: string,
    required = false,
  ): Record<string, string> {
    const extensions = { 'payment-identifier': { info: { required, id: identifier } } };
    const payment = {
      x402Version: 2,
      accepted,
      payload: { transaction },
      ...(identifier === undefined ? {} : { extensions }),
    };
    return { 'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64') };
  }
}
