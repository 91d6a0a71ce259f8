import { Keypair } from '@solana/web3.js';
import { loadKeypair, type Signer } from '../../src/signing/signer.ts';

/** A signer with the key of `keypair`: by default a new one. */
export function signerOf(keypair = Keypair.generate()): Promise<Signer> {
  return loadKeypair(JSON.stringify([...keypair.secretKey]));
}
