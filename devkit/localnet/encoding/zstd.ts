import { compress, init } from '@bokuweb/zstd-wasm';

await init();

/** Bytes as one zstd frame. */
export function compressZstd(bytes: Uint8Array): Uint8Array {
  return compress(bytes);
}
