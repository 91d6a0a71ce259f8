import { base58 } from '@scure/base';
import {
  Connection,
  Keypair,
  type PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'vitest';
import { type Localnet, type LocalnetOptions, startLocalnet } from '../../devkit/localnet/localnet.ts';

/** A transaction as a client sends it. */
export interface Signed {
  readonly signature: string;
  readonly raw: Buffer;
}

/** A chain whose blocks are made by hand, with a funded payer and a connection to its first node. */
export class Bench {
  readonly localnet: Localnet;
  readonly payer: Keypair;
  readonly connection: Connection;

  constructor(localnet: Localnet, payer: Keypair) {
    this.localnet = localnet;
    this.payer = payer;
    this.connection = this.node(0);
  }

  static async start(options: LocalnetOptions = {}): Promise<Bench> {
    const payer = Keypair.generate();
    const hotWallet = payer.publicKey.toBase58();
    return new Bench(await startLocalnet({ slotMs: 0, finalityLag: 4, hotWallet, ...options }), payer);
  }

  node(index: number): Connection {
    return new Connection(this.localnet.rpcUrls[index] ?? '', {
      commitment: 'processed',
      wsEndpoint: this.localnet.wsUrls[index] ?? '',
      disableRetryOnRateLimit: true,
    });
  }

  /** One JSON-RPC call as plain HTTP. A closed connection or `over` ends it; silence alone does not. */
  post(
    node: number,
    method: string,
    params: unknown = [],
    over: AbortSignal | null = null,
  ): Promise<Response> {
    return fetch(this.localnet.rpcUrls[node] ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: over,
    });
  }

  /** The JSON body of {@link post}. */
  async ask(node: number, method: string, params: unknown = []): Promise<unknown> {
    return (await this.post(node, method, params)).json();
  }

  pay(to: PublicKey, lamports: number): TransactionInstruction {
    return SystemProgram.transfer({ fromPubkey: this.payer.publicKey, toPubkey: to, lamports });
  }

  async sign(...instructions: TransactionInstruction[]): Promise<Signed> {
    const { blockhash } = await this.connection.getLatestBlockhash('processed');
    const transaction = new Transaction({ feePayer: this.payer.publicKey, recentBlockhash: blockhash }).add(
      ...instructions,
    );
    transaction.sign(this.payer);
    return {
      signature: base58.encode(transaction.signature ?? new Uint8Array(64)),
      raw: transaction.serialize(),
    };
  }

  /** Sends without preflight. */
  send({ raw }: Signed): Promise<string> {
    return this.connection.sendRawTransaction(raw, { skipPreflight: true });
  }

  /** Sends a transfer and produces the block that holds it. */
  async land(to: PublicKey, lamports = 1_000_000): Promise<Signed> {
    const signed = await this.sign(this.pay(to, lamports));
    await this.send(signed);
    this.localnet.controls.produceSlot();
    expect(await this.status(signed.signature)).toBe('processed');
    return signed;
  }

  async status(signature: string, node = this.connection): Promise<string | null> {
    const { value } = await node.getSignatureStatuses([signature], { searchTransactionHistory: true });
    return value[0]?.confirmationStatus ?? null;
  }
}

export function someone(): PublicKey {
  return Keypair.generate().publicKey;
}
