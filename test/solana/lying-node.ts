import { base58 } from '@scure/base';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { type RpcRequest, resultOf, type ScriptedNode, startScriptedNode } from './rpc-scripted-node.ts';

/** The answer of a liar, given the answer of an honest node (null if that has none). Undefined: the truth. */
export type FalseResult = (asked: Pick<RpcRequest, 'method' | 'params'>, truth: unknown) => unknown;

/** A node of its own identity that asks the honest one at `url`, and then returns the result of `lie`. */
export function startLiar(url: string, lie: () => FalseResult): Promise<ScriptedNode> {
  const identity = newAddress();
  return startScriptedNode(async (asked) => {
    if (asked.method === 'getIdentity') return resultOf(asked, JSON.stringify({ identity }));
    const answer = await rpc(url, asked.method, asked.params).then(
      (result) => ({ result }),
      () => ({ result: null }),
    );
    const replacement = lie()(asked, answer.result);
    return resultOf(asked, JSON.stringify(replacement === undefined ? answer.result : replacement));
  });
}

/** A getBlock answer, as far as liars change it. */
export interface BlockAnswer {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly parentSlot: number;
  readonly blockHeight: number;
  readonly signatures?: readonly string[];
}

/** A hash that no block has. */
export function falseHash(serial: number): string {
  return base58.encode(
    new Uint8Array(32)
      .fill(9)
      .fill(serial % 256, 0, 1)
      .fill(serial >> 8, 1, 2),
  );
}
