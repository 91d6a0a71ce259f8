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

/** A mint of the development chain; base58 addresses. */
export interface Token {
  readonly mint: string;
  readonly program: string;
}

export interface Draft {
  readonly instructions: readonly TransactionInstruction[];
  readonly signers: readonly Keypair[];
}

export const DECIMALS = 6;
/** What the tokens with a transfer fee withhold: 1 %. */
const FEE_BASIS_POINTS = 100;
const MAXIMUM_FEE = 1_000_000_000_000n;
/** A mint that does not exist yet, and what makes it. */
type NewMint = Draft & { readonly token: Token };

/** Gives base units of a token of the chain to a wallet. */
export type MintTo = (token: Token, owner: string, units: bigint) => Promise<void>;

const noMint: MintTo = async ({ mint }) => {
  throw new Error(`no authority to mint ${mint} is set`);
};

const ACCOUNT_BYTES = 165;
const LOOK_MS = 50;
const LOOKS_A_SEND = 20;

/** A user with a wallet on the development chain. Composes, signs and sends like a wallet program. */
export class Payer {
  readonly #url: string;
  readonly #keypair = Keypair.generate();

  /** @param url of the node that is asked and gets the transactions */
  constructor(url: string) {
    this.#url = url;
  }

  get address(): string {
    return this.#keypair.publicKey.toBase58();
  }

  /** Resolves when `lamports` of the faucet, and base units of each of `tokens`, are in the wallet at `confirmed`. */
  async fund(lamports: bigint, tokens: readonly Token[] = [], units = 0n, mintTo = noMint): Promise<void> {
    await rpc(this.#url, 'requestAirdrop', [this.address, Number(lamports)]);
    for (const token of tokens) await mintTo(token, this.address, units);
    const accounts = [this.address, ...tokens.map((token) => accountOf(token, this.address).toBase58())];
    while ((await this.#present(accounts)) < accounts.length) await sleep(LOOK_MS);
  }

  /**
   * Sends without preflight, so that a transaction that fails lands, too, and again until it is in a block of the chain; its
   * signature. Throws where it can land no more.
   */
  async send(...steps: readonly Draft[]): Promise<string> {
    const { value } = await rpc<LatestBlockhashAnswer>(this.#url, 'getLatestBlockhash', [
      { commitment: 'confirmed' },
    ]);
    const message = new TransactionMessage({
      payerKey: this.#keypair.publicKey,
      recentBlockhash: value.blockhash,
      instructions: steps.flatMap(({ instructions }) => instructions),
    }).compileToV0Message();
    const transaction = new VersionedTransaction(message);
    transaction.sign([this.#keypair, ...steps.flatMap(({ signers }) => signers)]);
    const bytes = Buffer.from(transaction.serialize()).toString('base64');
    for (;;) {
      const options = { encoding: 'base64', skipPreflight: true };
      const signature = await rpc<string>(this.#url, 'sendTransaction', [bytes, options]);
      for (let look = 0; look < LOOKS_A_SEND; look += 1) {
        if ((await slotOf(this.#url, signature)) !== null) return signature;
        await sleep(LOOK_MS);
      }
      const height = await rpc<number>(this.#url, 'getBlockHeight', [{ commitment: 'finalized' }]);
      if (height > value.lastValidBlockHeight) throw new Error(`${signature} is in no block`);
    }
  }

  lamports(to: string, lamports: bigint): Draft {
    const transfer = { fromPubkey: this.#keypair.publicKey, toPubkey: new PublicKey(to), lamports };
    return { instructions: [SystemProgram.transfer(transfer)], signers: [] };
  }

  /** Tokens to the associated account of a wallet, which is made where it is absent. */
  tokens(token: Token, to: string, units: bigint): Draft {
    const { instructions } = this.#transfer(token, accountOf(token, to), units);
    return { instructions: [this.#open(token, to), ...instructions], signers: [] };
  }

  /** Tokens to a new token account that is not the associated one of its owner. */
  tokensBeside({ mint }: Token, owner: string, units: bigint): Draft {
    const token = { mint, program: TOKEN_PROGRAM_ID.toBase58() };
    const account = Keypair.generate();
    const instructions = [
      this.#create(account, ACCOUNT_BYTES, 3_000_000),
      createInitializeAccount3Instruction(account.publicKey, new PublicKey(mint), new PublicKey(owner)),
      ...this.#transfer(token, account.publicKey, units).instructions,
    ];
    return { instructions, signers: [account] };
  }

  /** Gives the associated token account of the payer itself, with all that is in it, to another owner. */
  handOver(token: Token, to: string): Draft {
    const account = accountOf(token, this.address);
    const owner = new PublicKey(to);
    const { publicKey } = this.#keypair;
    return {
      instructions: [createSetAuthorityInstruction(account, publicKey, AuthorityType.AccountOwner, owner)],
      signers: [],
    };
  }

  /** A new mint of the payer's own, and units of it to the associated account of a wallet. */
  counterfeit(to: string, units: bigint): NewMint {
    const { token, instructions, signers } = this.newMint();
    return { token, instructions: [...instructions, ...this.mintTo(token, to, units).instructions], signers };
  }

  /** A new mint of the Token program with the payer as its authority. */
  newMint(): NewMint {
    const mint = Keypair.generate();
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
    const { publicKey: at } = mint;
    const { publicKey: own } = this.#keypair;
    const instructions = [
      this.#create(mint, getMintLen([ExtensionType.TransferFeeConfig]), 4_000_000, program),
      createInitializeTransferFeeConfigInstruction(at, own, own, FEE_BASIS_POINTS, MAXIMUM_FEE, program),
      createInitializeMint2Instruction(at, DECIMALS, own, null, program),
    ];
    return { token: { mint: at.toBase58(), program: program.toBase58() }, instructions, signers: [mint] };
  }

  /** New units of a mint of the payer's own, to the associated account of a wallet, which is made where it is absent. */
  mintTo(token: Token, to: string, units: bigint): Draft {
    const [mint, program] = [new PublicKey(token.mint), new PublicKey(token.program)];
    const { publicKey } = this.#keypair;
    const mintTo = createMintToInstruction(mint, accountOf(token, to), publicKey, units, [], program);
    return { instructions: [this.#open(token, to), mintTo], signers: [] };
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

  #open(token: Token, wallet: string): TransactionInstruction {
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

  async #present(accounts: readonly string[]): Promise<number> {
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

/** The slot of the block in which a node has the transaction, however long ago, at any commitment; null while it has none. */
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
