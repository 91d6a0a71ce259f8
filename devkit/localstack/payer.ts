import { setTimeout as sleep } from 'node:timers/promises';
import {
  Keypair,
  PublicKey,
  SystemProgram,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeAccount3Instruction,
  createInitializeMint2Instruction,
  createInitializeTransferFeeConfigInstruction,
  createMintToInstruction,
  createSetAuthorityInstruction,
  createTransferCheckedInstruction,
  ExtensionType,
  getAssociatedTokenAddressSync,
  getMintLen,
  MINT_SIZE,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '../../src/shims/spl-token.ts';
import { rpc, statusesOf } from './rpc.ts';

export interface Token {
  readonly mint: string;
  readonly program: string;
}

/** Instructions with their signers other than the payer. */
export interface Draft {
  readonly instructions: readonly TransactionInstruction[];
  readonly signers: readonly Keypair[];
}

export const DECIMALS = 6;
const FEE_BASIS_POINTS = 100;
const MAX_TRANSFER_FEE = 1_000_000_000_000n;
type NewMint = Draft & { readonly token: Token };

export type MintTo = (token: Token, owner: string, units: bigint) => Promise<void>;

const mintWithoutAuthority: MintTo = async ({ mint }) => {
  throw new Error(`cannot mint ${mint}: no function with its mint authority was given`);
};

const ACCOUNT_BYTES = 165;
const POLL_MS = 50;
const POLLS_PER_SEND = 20;

/** A user's wallet on the development chain. Composes, signs and sends transactions with web3.js. */
export class Payer {
  readonly #url: string;
  readonly #keypair: Keypair;

  /**
   * @param url of the node that answers queries and receives the transactions
   * @param secretKey of the wallet. Default: a new one
   */
  constructor(url: string, secretKey?: Uint8Array) {
    this.#url = url;
    this.#keypair = secretKey === undefined ? Keypair.generate() : Keypair.fromSecretKey(secretKey);
  }

  get address(): string {
    return this.#keypair.publicKey.toBase58();
  }

  /** Requests `lamports` from the faucet and `units` of each token; resolves when the wallet and its token accounts are confirmed. */
  async fund(
    lamports: bigint,
    tokens: readonly Token[] = [],
    units = 0n,
    mintTo = mintWithoutAuthority,
  ): Promise<void> {
    await rpc(this.#url, 'requestAirdrop', [this.address, Number(lamports)]);
    for (const token of tokens) await mintTo(token, this.address, units);
    const accounts = [this.address, ...tokens.map((token) => accountOf(token, this.address).toBase58())];
    while ((await this.#countExisting(accounts)) < accounts.length) await sleep(POLL_MS);
  }

  /**
   * Sends one transaction repeatedly until a block includes it, and returns its signature. Sends without preflight, so that failing
   * transactions land, too. Throws if the transaction can no longer land.
   */
  async send(...drafts: readonly Draft[]): Promise<string> {
    const { value } = await rpc<LatestBlockhashAnswer>(this.#url, 'getLatestBlockhash', [
      { commitment: 'confirmed' },
    ]);
    const message = new TransactionMessage({
      payerKey: this.#keypair.publicKey,
      recentBlockhash: value.blockhash,
      instructions: drafts.flatMap(({ instructions }) => instructions),
    }).compileToV0Message();
    const transaction = new VersionedTransaction(message);
    transaction.sign([this.#keypair, ...drafts.flatMap(({ signers }) => signers)]);
    const bytes = Buffer.from(transaction.serialize()).toString('base64');
    for (;;) {
      const options = { encoding: 'base64', skipPreflight: true };
      const signature = await rpc<string>(this.#url, 'sendTransaction', [bytes, options]);
      for (let poll = 0; poll < POLLS_PER_SEND; poll += 1) {
        if ((await slotOf(this.#url, signature)) !== null) return signature;
        await sleep(POLL_MS);
      }
      const height = await rpc<number>(this.#url, 'getBlockHeight', [{ commitment: 'finalized' }]);
      if (height > value.lastValidBlockHeight) throw new Error(`transaction ${signature} did not land`);
    }
  }

  lamports(to: string, lamports: bigint): Draft {
    const transfer = { fromPubkey: this.#keypair.publicKey, toPubkey: new PublicKey(to), lamports };
    return { instructions: [SystemProgram.transfer(transfer)], signers: [] };
  }

  /** Transfers tokens to a wallet's associated token account, which is created if it does not exist. */
  tokens(token: Token, to: string, units: bigint): Draft {
    const { instructions } = this.#transfer(token, accountOf(token, to), units);
    return { instructions: [this.#createAta(token, to), ...instructions], signers: [] };
  }

  /** Transfers tokens to a new token account of `owner` that is not its associated token account. */
  tokensToOtherAccount({ mint }: Token, owner: string, units: bigint): Draft {
    const token = { mint, program: TOKEN_PROGRAM_ID.toBase58() };
    const account = Keypair.generate();
    const instructions = [
      this.#create(account, ACCOUNT_BYTES, 3_000_000),
      createInitializeAccount3Instruction(account.publicKey, new PublicKey(mint), new PublicKey(owner)),
      ...this.#transfer(token, account.publicKey, units).instructions,
    ];
    return { instructions, signers: [account] };
  }

  /** Changes the owner of the payer's associated token account, with its balance, to `to`. */
  handOverAccount(token: Token, to: string): Draft {
    const account = accountOf(token, this.address);
    const owner = new PublicKey(to);
    const { publicKey } = this.#keypair;
    return {
      instructions: [createSetAuthorityInstruction(account, publicKey, AuthorityType.AccountOwner, owner)],
      signers: [],
    };
  }

  mintCounterfeit(to: string, units: bigint): NewMint {
    const { token, instructions, signers } = this.newMint();
    return { token, instructions: [...instructions, ...this.mintTo(token, to, units).instructions], signers };
  }

  /** @param secretKey of the mint. Default: a new one */
  newMint(secretKey?: Uint8Array): NewMint {
    const mint = secretKey === undefined ? Keypair.generate() : Keypair.fromSecretKey(secretKey);
    const { publicKey } = this.#keypair;
    const instructions = [
      this.#create(mint, MINT_SIZE, 2_000_000),
      createInitializeMint2Instruction(mint.publicKey, DECIMALS, publicKey, null),
    ];
    const token = { mint: mint.publicKey.toBase58(), program: TOKEN_PROGRAM_ID.toBase58() };
    return { token, instructions, signers: [mint] };
  }

  newFeeMint(): NewMint {
    const [mint, program] = [Keypair.generate(), TOKEN_2022_PROGRAM_ID];
    const { publicKey: key } = mint;
    const { publicKey: payer } = this.#keypair;
    const feeTerms = [payer, payer, FEE_BASIS_POINTS, MAX_TRANSFER_FEE, program] as const;
    const instructions = [
      this.#create(mint, getMintLen([ExtensionType.TransferFeeConfig]), 4_000_000, program),
      createInitializeTransferFeeConfigInstruction(key, ...feeTerms),
      createInitializeMint2Instruction(key, DECIMALS, payer, null, program),
    ];
    return { token: { mint: key.toBase58(), program: program.toBase58() }, instructions, signers: [mint] };
  }

  /** Mints tokens to a wallet's associated token account, which is created if it does not exist. The payer must be the mint authority. */
  mintTo(token: Token, to: string, units: bigint): Draft {
    const [mint, program] = [new PublicKey(token.mint), new PublicKey(token.program)];
    const { publicKey } = this.#keypair;
    const mintTo = createMintToInstruction(mint, accountOf(token, to), publicKey, units, [], program);
    return { instructions: [this.#createAta(token, to), mintTo], signers: [] };
  }

  #transfer(token: Token, to: PublicKey, units: bigint): Draft {
    const { publicKey } = this.#keypair;
    const [mint, program] = [new PublicKey(token.mint), new PublicKey(token.program)];
    const from = accountOf(token, this.address);
    const transfer = createTransferCheckedInstruction(
      from,
      mint,
      to,
      publicKey,
      units,
      DECIMALS,
      [],
      program,
    );
    return { instructions: [transfer], signers: [] };
  }

  #createAta(token: Token, wallet: string): TransactionInstruction {
    const { publicKey } = this.#keypair;
    return createAssociatedTokenAccountIdempotentInstruction(
      publicKey,
      accountOf(token, wallet),
      new PublicKey(wallet),
      new PublicKey(token.mint),
      new PublicKey(token.program),
    );
  }

  #create(
    { publicKey }: Keypair,
    space: number,
    lamports: number,
    programId = TOKEN_PROGRAM_ID,
  ): TransactionInstruction {
    return SystemProgram.createAccount({
      fromPubkey: this.#keypair.publicKey,
      newAccountPubkey: publicKey,
      lamports,
      space,
      programId,
    });
  }

  async #countExisting(accounts: readonly string[]): Promise<number> {
    const options = { commitment: 'confirmed', encoding: 'base64' };
    const { value } = await rpc<{ value: readonly unknown[] }>(this.#url, 'getMultipleAccounts', [
      accounts,
      options,
    ]);
    return value.filter((account) => account !== null).length;
  }
}

interface LatestBlockhashAnswer {
  readonly value: { readonly blockhash: string; readonly lastValidBlockHeight: number };
}

/** The slot of the block that includes the transaction, at any commitment and of any age; null if the node knows no such block. */
export async function slotOf(url: string, signature: string): Promise<number | null> {
  return (await statusesOf(url, [signature]))[0]?.slot ?? null;
}

function accountOf({ mint, program }: Token, wallet: string): PublicKey {
  return getAssociatedTokenAddressSync(
    new PublicKey(mint),
    new PublicKey(wallet),
    true,
    new PublicKey(program),
  );
}
