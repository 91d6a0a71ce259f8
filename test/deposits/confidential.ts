import {
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeMintInstruction,
  createMintToInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_2022_PROGRAM_ID,
} from '@solana/spl-token';
import {
  type AccountMeta,
  Keypair,
  PublicKey,
  SYSVAR_INSTRUCTIONS_PUBKEY,
  SystemProgram,
  TransactionInstruction,
} from '@solana/web3.js';

/** Proves to the chain's own verifier that an ElGamal key is valid; made with the public `@solana/zk-sdk`, and bound to nothing else. */
const ELGAMAL_KEY_AND_PROOF =
  '7670abe397b708efb8e36c47d27a27085f943a88905da4a623a42ef994881120da90d9e683f21365dfa88a9cfe0db2afe1bf2099c090f665497eeb31c7edf95072f91b598946edbb3fd0452514f29ef095aa240ef05d4629aaffe526be431409';
const PROOF_PROGRAM = new PublicKey('ZkE1Gama1Proof11111111111111111111111111111');
const VERIFY_PUBKEY_VALIDITY = 4;
const REALLOCATE = 29;
const CONFIDENTIAL = 27;
const [INITIALIZE_MINT, CONFIGURE_ACCOUNT, DEPOSIT, APPLY_PENDING_BALANCE] = [0, 2, 5, 8];
const CONFIDENTIAL_TRANSFER_ACCOUNT = 5;
/** 165 bytes of an account, its type, and the extension's 4 bytes of type and length, authority, auto-approval and auditor. */
const MINT_BYTES = 165 + 1 + 4 + 65;
const DECIMALS = 2;
/** The ciphertext that only the owner can decrypt: the program does not check it. */
const SEALED_BALANCE = Buffer.alloc(36, 7);

/** A mint of confidential transfers, and one wallet's account of it, made by the real instructions of Token-2022. */
export class ConfidentialToken {
  readonly mint = Keypair.generate();
  readonly account: PublicKey;
  readonly #owner: PublicKey;

  constructor(owner: PublicKey) {
    this.#owner = owner;
    this.account = getAssociatedTokenAddressSync(this.mint.publicKey, owner, true, TOKEN_2022_PROGRAM_ID);
  }

  /** The mint, the owner's account, and a number of tokens in it. The mint must sign, too. */
  create(lamports: number, amount: bigint): readonly TransactionInstruction[] {
    const [mint, owner] = [this.mint.publicKey, this.#owner];
    return [
      SystemProgram.createAccount({
        fromPubkey: owner,
        newAccountPubkey: mint,
        lamports,
        space: MINT_BYTES,
        programId: TOKEN_2022_PROGRAM_ID,
      }),
      token([writable(mint)], CONFIDENTIAL, INITIALIZE_MINT, Buffer.alloc(32), 1, Buffer.alloc(32)),
      createInitializeMintInstruction(mint, DECIMALS, owner, null, TOKEN_2022_PROGRAM_ID),
      createAssociatedTokenAccountIdempotentInstruction(
        owner,
        this.account,
        owner,
        mint,
        TOKEN_2022_PROGRAM_ID,
      ),
      createMintToInstruction(mint, this.account, owner, amount, [], TOKEN_2022_PROGRAM_ID),
    ];
  }

  /** Enables confidential balances for the account. */
  configure(): readonly TransactionInstruction[] {
    const system = { pubkey: SystemProgram.programId, isSigner: false, isWritable: false };
    const most = Buffer.alloc(8);
    most.writeBigUInt64LE(65_536n);
    return [
      token(
        [writable(this.account), signer(this.#owner), system, signer(this.#owner)],
        REALLOCATE,
        CONFIDENTIAL_TRANSFER_ACCOUNT,
        0,
      ),
      token(
        [
          writable(this.account),
          readable(this.mint.publicKey),
          readable(SYSVAR_INSTRUCTIONS_PUBKEY),
          signer(this.#owner),
        ],
        CONFIDENTIAL,
        CONFIGURE_ACCOUNT,
        SEALED_BALANCE,
        most,
        1,
      ),
      new TransactionInstruction({
        programId: PROOF_PROGRAM,
        keys: [],
        data: Buffer.from([VERIFY_PUBKEY_VALIDITY, ...Buffer.from(ELGAMAL_KEY_AND_PROOF, 'hex')]),
      }),
    ];
  }

  /** Moves tokens into the pending confidential balance, as a confidential transfer to the account does: its counter increases. */
  deposit(amount: bigint): TransactionInstruction {
    const units = Buffer.alloc(8);
    units.writeBigUInt64LE(amount);
    const accounts = [writable(this.account), readable(this.mint.publicKey), signer(this.#owner)];
    return token(accounts, CONFIDENTIAL, DEPOSIT, units, DECIMALS);
  }

  /** The instruction by which the receiver applies the pending balance. */
  apply(credits: bigint): TransactionInstruction {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64LE(credits);
    const accounts = [writable(this.account), signer(this.#owner)];
    return token(accounts, CONFIDENTIAL, APPLY_PENDING_BALANCE, counter, SEALED_BALANCE);
  }
}

function token(keys: AccountMeta[], ...data: readonly (number | Buffer)[]): TransactionInstruction {
  const bytes = data.map((part) => (typeof part === 'number' ? Buffer.from([part]) : part));
  return new TransactionInstruction({ programId: TOKEN_2022_PROGRAM_ID, keys, data: Buffer.concat(bytes) });
}

const writable = (pubkey: PublicKey) => ({ pubkey, isSigner: false, isWritable: true });
const readable = (pubkey: PublicKey) => ({ pubkey, isSigner: false, isWritable: false });
const signer = (pubkey: PublicKey) => ({ pubkey, isSigner: true, isWritable: true });
