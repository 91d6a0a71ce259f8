import { base58 } from '@scure/base';
import {
  Connection,
  Keypair,
  type PublicKey,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'vitest';
import { shapeOf } from './shape.ts';

/** A JSON-RPC answer. */
export interface JsonRpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A chain under test, with the tools that every subject uses. */
export class Harness {
  readonly connection: Connection;
  readonly rpcUrl: string;
  readonly payer = Keypair.generate();

  constructor(rpcUrl: string, wsUrl: string) {
    this.rpcUrl = rpcUrl;
    this.connection = new Connection(rpcUrl, { commitment: 'confirmed', wsEndpoint: wsUrl });
  }

  /** Funds the payer, visible at every commitment. */
  async fund(): Promise<void> {
    const signature = await this.connection.requestAirdrop(this.payer.publicKey, 100_000_000_000);
    const latest = await this.connection.getLatestBlockhash();
    await this.connection.confirmTransaction({ signature, ...latest }, 'finalized');
  }

  async call(method: string, params: unknown = []): Promise<JsonRpcAnswer> {
    const response = await fetch(this.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as JsonRpcAnswer;
  }

  /** The result of a call that must succeed. */
  async result(method: string, params: unknown = []): Promise<unknown> {
    const answer = await this.call(method, params);
    expect(answer.error, `${method} ${JSON.stringify(params)}`).toBeUndefined();
    return answer.result;
  }

  /** Compares the shape of a result with the recorded shape of the real validator. */
  async expectShape(name: string, method: string, params: unknown = []): Promise<unknown> {
    const answer = await this.call(method, params);
    await this.expectShapeOf(name, answer.error ?? answer.result);
    return answer.result;
  }

  /** As {@link expectShape}, for a part of a result. */
  async expectShapeOf(name: string, value: unknown): Promise<void> {
    const shape = JSON.stringify(shapeOf(value), null, 2);
    await expect(`${shape}\n`).toMatchFileSnapshot(`./shapes/${name}.shape`);
  }

  /** Signs with the payer first. */
  async sign(
    instructions: readonly TransactionInstruction[],
    signers: readonly Keypair[] = [],
    blockhash?: string,
  ): Promise<{ signature: string; raw: string; transaction: Transaction }> {
    const latest = await this.connection.getLatestBlockhash();
    const transaction = new Transaction({
      feePayer: this.payer.publicKey,
      blockhash: blockhash ?? latest.blockhash,
      lastValidBlockHeight: latest.lastValidBlockHeight,
    }).add(...instructions);
    transaction.sign(this.payer, ...signers);
    const raw = transaction.serialize().toString('base64');
    return { signature: base58.encode(transaction.signature ?? new Uint8Array(64)), raw, transaction };
  }

  /** Sends and waits until confirmed; the transaction may have failed. Gives its signature. */
  async land(
    instructions: readonly TransactionInstruction[],
    signers: readonly Keypair[] = [],
  ): Promise<string> {
    const { raw, signature } = await this.sign(instructions, signers);
    await this.send(raw);
    await this.seen(signature);
    return signature;
  }

  send(raw: string): Promise<JsonRpcAnswer> {
    return this.call('sendTransaction', [
      raw,
      { encoding: 'base64', skipPreflight: true, preflightCommitment: 'confirmed' },
    ]);
  }

  preflight(raw: string): Promise<JsonRpcAnswer> {
    return this.call('sendTransaction', [raw, { encoding: 'base64', preflightCommitment: 'confirmed' }]);
  }

  /** Waits until a transaction has one of these commitments. Default: at least confirmed. */
  async seen(signature: string, commitment = /^(confirmed|finalized)$/): Promise<void> {
    await expect
      .poll(
        async () => {
          const { value } = await this.connection.getSignatureStatuses([signature]);
          return value[0]?.confirmationStatus;
        },
        { timeout: 30_000, interval: 20 },
      )
      .toMatch(commitment);
  }

  /** Waits until the confirmed height has grown. */
  async blocks(count: number): Promise<void> {
    const from = await this.connection.getBlockHeight('confirmed');
    await expect
      .poll(() => this.connection.getBlockHeight('confirmed'), { timeout: 60_000, interval: 20 })
      .toBeGreaterThan(from + count);
  }

  async balance(address: PublicKey): Promise<number> {
    return this.connection.getBalance(address, 'confirmed');
  }
}
