import { createHash, randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import type { Keypair } from '@solana/web3.js';
import type { Signer } from '../../src/signing/signer.ts';

const { Point, utils } = ed25519;
const ORDER = Point.Fn.ORDER;

/** A signer with fresh randomness, as a hardware module or several parties may use: every answer is another valid signature. */
export function hedgingSigner(key: Keypair): Signer {
  const { scalar, pointBytes } = utils.getExtendedPublicKey(key.secretKey.slice(0, 32));
  const sign = async (message: Uint8Array): Promise<Uint8Array> => {
    const nonce = littleEndian(randomBytes(64)) % ORDER;
    const commitment = Point.BASE.multiply(nonce).toBytes();
    const challenge = createHash('sha512').update(commitment).update(pointBytes).update(message).digest();
    const answer = (nonce + littleEndian(challenge) * scalar) % ORDER;
    return Uint8Array.from([
      ...commitment,
      ...Buffer.from(answer.toString(16).padStart(64, '0'), 'hex').reverse(),
    ]);
  };
  return { address: key.publicKey.toBase58(), sign };
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}
