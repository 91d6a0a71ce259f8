import { PLAIN_SEAL, type Seal } from '../domain/webhook.ts';
import { KeyRing } from './temporal/key-ring.ts';

const SEALED = /^sealed:([0-9a-f]{16}):([A-Za-z0-9+/=]+)$/;

/** Encrypts with SLUICE_PAYLOAD_KEY; also reads plain text from before it was set. No keys: {@link PLAIN_SEAL}. */
export function sealOf(payloadKeys: readonly Uint8Array[]): Seal {
  if (payloadKeys.length === 0) return PLAIN_SEAL;
  const keys = new KeyRing(payloadKeys);
  return {
    seal: (text, of) => {
      const sealed = keys.seal(Buffer.from(text, 'utf8'), Buffer.from(of, 'utf8'));
      return `sealed:${keys.current}:${sealed.toString('base64')}`;
    },
    open: (sealed, of) => {
      const [, id, data] = SEALED.exec(sealed) ?? [];
      if (id === undefined || data === undefined) return PLAIN_SEAL.open(sealed, of);
      return keys.open(id, Buffer.from(data, 'base64'), Buffer.from(of, 'utf8')).toString('utf8');
    },
  };
}
