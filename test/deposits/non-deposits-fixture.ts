import {
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeAccount3Instruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  AddressLookupTableProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { afterAll, beforeAll } from 'vitest';
import { findingOf, type Ours } from '../../src/domain/credits.ts';
import type { BlockFinding, ScannedBlock, WatchKind } from '../../src/domain/deposit.ts';
import type { AssetTerms } from '../../src/domain/deposit-asset.ts';
import { SolanaNode } from '../../src/solana/rpc/node.ts';
import { readBlock, readTransactionsAt } from '../../src/solana/scan/block.ts';
import { scanBlockBytes } from '../../src/solana/scan/bytes/match-bytes.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { Bench } from '../localnet/support.ts';
import { shortBlock } from '../solana/scan/short-block.ts';

const ACCOUNT_BYTES = 165;

/** The exchange of the tests of one file. */
export function useExchange(): WatchingExchange {
  const exchange = new WatchingExchange();
  beforeAll(() => exchange.start());
  afterAll(() => exchange.close());
  return exchange;
}

/** The parts of the started exchange. */
interface ExchangeParts {
  readonly bench: Bench;
  readonly node: SolanaNode;
  readonly assets: AssetTerms[];
}

/** An exchange that watches a chain: its deposit wallets, its hot wallet, its assets. A stranger pays. */
class WatchingExchange {
  /** Deposit wallets of two users. */
  readonly alice = Keypair.generate();
  readonly bob = Keypair.generate();
  readonly hot = Keypair.generate();
  /** A wallet without SOL for a fee. */
  readonly pauper = Keypair.generate();
  readonly #watched = new WatchSet(3);
  #chain: ExchangeParts | undefined;

  async start(): Promise<void> {
    const bench = await Bench.start({ finalityLag: 2 });
    const node = new SolanaNode(bench.localnet.rpcUrls[0] ?? '');
    this.#chain = { bench, node, assets: assetsOf(bench) };
    for (const { publicKey } of [this.alice, this.bob, this.hot]) {
      this.#watched.add(publicKey.toBase58());
      await bench.localnet.airdrop(publicKey.toBase58(), 1_000_000_000n);
    }
  }

  async close(): Promise<void> {
    await this.#chain?.node.close();
    await this.#chain?.bench.localnet.close();
  }

  get bench(): Bench {
    return this.#started().bench;
  }

  get node(): SolanaNode {
    return this.#started().node;
  }

  get assets(): AssetTerms[] {
    return this.#started().assets;
  }

  #started(): ExchangeParts {
    if (this.#chain === undefined) throw new Error('the exchange starts before the first test');
    return this.#chain;
  }

  /** The stranger who pays the fees, and holds SOL and tokens. */
  get stranger(): Keypair {
    return this.bench.payer;
  }

  /** A mint whose tokens are credited. */
  get mint(): string {
    return this.bench.localnet.mint.address;
  }

  /** A transfer out of the stranger's token account, checked. */
  give(
    asset: string,
    to: PublicKey,
    amount: bigint,
    program: PublicKey = TOKEN_PROGRAM_ID,
  ): TransactionInstruction {
    const owner = this.stranger.publicKey;
    const source = ataOf(asset, owner, program);
    return createTransferCheckedInstruction(source, new PublicKey(asset), to, owner, amount, 6, [], program);
  }

  /** Opens an associated token account, which the stranger pays for. */
  openAta(asset: string, owner: PublicKey, program: PublicKey = TOKEN_PROGRAM_ID): TransactionInstruction {
    const payer = this.stranger.publicKey;
    const account = ataOf(asset, owner, program);
    const key = new PublicKey(asset);
    return createAssociatedTokenAccountIdempotentInstruction(payer, account, owner, key, program);
  }

  /** Opens a token account at an address of its own. */
  openAuxiliary(account: Keypair, owner: PublicKey): TransactionInstruction[] {
    return [
      SystemProgram.createAccount({
        fromPubkey: this.stranger.publicKey,
        newAccountPubkey: account.publicKey,
        lamports: 3_000_000,
        space: ACCOUNT_BYTES,
        programId: TOKEN_PROGRAM_ID,
      }),
      createInitializeAccount3Instruction(account.publicKey, new PublicKey(this.mint), owner),
    ];
  }

  /** A version-0 transaction of the stranger in a block of its own, which becomes final; its slot. */
  async land(
    instructions: readonly TransactionInstruction[],
    {
      signers = [],
      payer = this.stranger,
      table,
    }: {
      readonly signers?: readonly Keypair[];
      readonly payer?: Keypair;
      readonly table?: readonly PublicKey[];
    } = {},
  ): Promise<bigint> {
    const tables = table === undefined ? [] : [await this.lookupTable(table)];
    const { blockhash } = await this.bench.connection.getLatestBlockhash('processed');
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: blockhash,
      instructions: [...instructions],
    }).compileToV0Message(tables);
    const transaction = new VersionedTransaction(message);
    transaction.sign([payer, ...signers]);
    return this.landRaw(Buffer.from(transaction.serialize()));
  }

  /** {@link land} for a complete transaction. */
  async landRaw(raw: Buffer): Promise<bigint> {
    await this.bench.connection.sendRawTransaction(raw, { skipPreflight: true });
    const slot = this.bench.localnet.controls.produceSlot();
    this.bench.localnet.controls.produceSlots(3);
    return BigInt(slot);
  }

  /** The slot of a transaction that the chain's faucet made. */
  slotOf(signature: string): bigint {
    const record = this.bench.localnet.controls.chain.ledger.record(signature);
    if (record === undefined) throw new Error(`${signature} is in no block`);
    return BigInt(record.slot);
  }

  /** A finalized block, parsed as a whole. */
  async block(slot: bigint): Promise<ScannedBlock> {
    return readBlock(await this.#bytes(slot), slot, { node: this.node.name });
  }

  /** The finding of a finalized block, from the transactions that the scan of its bytes matched. */
  async finding(slot: bigint, policy: Partial<Ours> = {}): Promise<BlockFinding> {
    const bytes = await this.#bytes(slot);
    const scan = scanBlockBytes(bytes, this.#watched);
    if (scan.mustParse) throw new Error(`the bytes of block ${slot} do not show its content`);
    const transactions = readTransactionsAt(bytes, scan.hitTransactions, slot, { node: this.node.name });
    return findingOf({ transactions }, { ...this.#ours(), ...policy });
  }

  /** The inflows of {@link finding}, without the signature. */
  async inflows(slot: bigint, policy: Partial<Ours> = {}): Promise<readonly object[]> {
    const { inflows } = await this.finding(slot, policy);
    return inflows.map(({ account, wallet, asset, amount, reason }) => ({
      account,
      wallet,
      asset,
      amount,
      reason,
    }));
  }

  async #bytes(slot: bigint): Promise<Uint8Array> {
    const bytes = await shortBlock(this.node, slot, 'finalized');
    if (bytes === null) throw new Error(`the node shows no block ${slot}`);
    return bytes;
  }

  #ours(): Ours {
    const kinds = new Map<string, WatchKind>([
      [this.alice.publicKey.toBase58(), 'deposit'],
      [this.bob.publicKey.toBase58(), 'deposit'],
      [this.hot.publicKey.toBase58(), 'hot'],
    ]);
    return {
      kindOf: (address) => kinds.get(address),
      ataOf: deriveAta,
      asset: (name) => this.assets.find(({ asset }) => asset === name),
      isAttempt: () => false,
    };
  }

  /** A lookup table of these addresses that is active now. */
  async lookupTable(addresses: readonly PublicKey[]) {
    const authority = this.stranger.publicKey;
    const recentSlot = await this.bench.connection.getSlot('finalized');
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority,
      payer: authority,
      recentSlot,
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      lookupTable: table,
      authority,
      payer: authority,
      addresses: [...addresses],
    });
    await this.land([create, extend]);
    const { value } = await this.bench.connection.getAddressLookupTable(table, { commitment: 'confirmed' });
    if (value === null) throw new Error('the table was not created');
    return value;
  }
}

/** SOL, and a token of each program. */
function assetsOf({ localnet }: Bench): AssetTerms[] {
  const { mint, feeMint } = localnet;
  const terms = { decimals: 6, minimumDeposit: 1n, depositsOn: true };
  return [
    { ...terms, asset: 'SOL', program: null, decimals: 9, minimumDeposit: 1_000_000n },
    { ...terms, asset: mint.address, program: TOKEN_PROGRAM },
    { ...terms, asset: feeMint.address, program: TOKEN_2022_PROGRAM },
  ];
}

export function pay(from: Keypair, to: PublicKey, lamports: bigint): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: to, lamports });
}

export function ataOf(mint: string, owner: PublicKey, program: PublicKey = TOKEN_PROGRAM_ID): PublicKey {
  return getAssociatedTokenAddressSync(new PublicKey(mint), owner, true, program);
}

/** The {@link WatchingExchange.inflows} of a SOL deposit. */
export function solInflow(key: PublicKey, amount: bigint, reason: string | null = null) {
  const wallet = key.toBase58();
  return { account: wallet, wallet, asset: 'SOL', amount, reason };
}

/** The {@link WatchingExchange.inflows} of a token deposit. */
export function tokenInflow(
  wallet: PublicKey,
  asset: string,
  amount: bigint,
  reason: string | null = null,
  account: PublicKey = ataOf(asset, wallet),
) {
  return { account: account.toBase58(), wallet: wallet.toBase58(), asset, amount, reason };
}
