import { isDomainError } from '../../domain/errors.ts';
import { deriveAta } from '../../solana/tokens/ata.ts';

const MAX_ENTRIES = 4096;
const known = new Map<string, string | null>();

/** Cached `deriveAta`, which takes a millisecond. Null if the owner is off the curve. */
export function ataOf(owner: string, mint: string, program: string): string | null {
  const key = `${owner} ${mint} ${program}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const [oldest] = known.keys();
  if (known.size >= MAX_ENTRIES && oldest !== undefined) known.delete(oldest);
  const ata = derive(owner, mint, program);
  known.set(key, ata);
  return ata;
}

function derive(owner: string, mint: string, program: string): string | null {
  try {
    return deriveAta(owner, mint, program);
  } catch (error) {
    if (isDomainError(error)) return null;
    throw error;
  }
}
