import { z } from 'zod';
import type { Controls } from '../controls.ts';
import type { MethodTable } from './call.ts';
import { invalidParams } from './errors.ts';
import type { Params } from './params.ts';

const faultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('lag'), blocks: z.int().min(0) }),
  z.object({ kind: z.literal('history-from'), slot: z.int().min(0) }),
  z.object({ kind: z.literal('no-answer') }),
  z.object({ kind: z.literal('lost-answer') }),
  z.object({ kind: z.literal('delay'), ms: z.int().min(0) }),
  z.object({
    kind: z.literal('http'),
    status: z.literal([429, 500, 502, 503]),
    retryAfterSeconds: z.number().optional(),
  }),
  z.object({ kind: z.literal('null') }),
  z.object({ kind: z.literal('result'), result: z.unknown() }),
  z.object({ kind: z.literal('error'), code: z.int(), message: z.string(), data: z.unknown().optional() }),
]);

function amount(params: Params, index: number): bigint {
  const text = params.string(index);
  if (!/^\d+$/.test(text)) throw invalidParams('Invalid params: amounts are decimal strings.');
  return BigInt(text);
}

function fault(params: Params, index: number): Parameters<Controls['setFault']>[2] {
  const parsed = faultSchema.safeParse(params.requiredConfig(index));
  if (!parsed.success) throw invalidParams(`Invalid params: ${z.prettifyError(parsed.error)}`);
  const value = parsed.data;
  if (value.kind !== 'http') return value;
  const { kind, status, retryAfterSeconds } = value;
  return { kind, status, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

/** The controls as JSON-RPC methods, for a chain that runs in a process of its own. */
export function controlMethods(controls: Controls): MethodTable {
  return {
    localnet_produceSlot: () => controls.produceSlot(),
    localnet_skipSlots: (params) => {
      controls.skipSlots(params.integer(0));
      return true;
    },
    localnet_fork: (params) => controls.fork(params.integer(0)),
    localnet_setFault: (params) => {
      const times = params.has(3) ? params.integer(3) : undefined;
      controls.setFault(params.integer(0), params.string(1), fault(params, 2), times);
      return true;
    },
    localnet_clearFaults: () => {
      controls.clearFaults();
      return true;
    },
    localnet_mintTo: (params) =>
      controls.queueMintTo(params.address(0), params.address(1), amount(params, 2)),
  };
}
