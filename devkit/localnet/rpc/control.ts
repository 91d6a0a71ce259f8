import { z } from 'zod';
import type { Controls } from '../controls.ts';
import { faultSchema, faultTermsSchema } from '../faults.ts';
import type { MethodTable } from './call.ts';
import { failures, invalidParams } from './errors.ts';
import type { Params } from './params.ts';

/** Producing slots blocks the process, so that a larger count would delay the answers to all other calls. */
const MAX_SLOTS_AT_ONCE = 10_000;

function amount(params: Params, index: number): bigint {
  const text = params.string(index);
  if (!/^\d+$/.test(text))
    throw invalidParams('Invalid params: the amount must be a decimal string of base units.');
  return BigInt(text);
}

function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw invalidParams(`Invalid params: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function run<T>(control: () => T): T {
  try {
    return control();
  } catch (error) {
    throw error instanceof RangeError ? invalidParams(`Invalid params: ${error.message}`) : error;
  }
}

function slotCount(params: Params): number {
  const count = params.number(0);
  if (count !== null && Number.isInteger(count) && count >= 1 && count <= MAX_SLOTS_AT_ONCE) return count;
  throw invalidParams(
    `Invalid params: count (the first parameter) must be an integer from 1 to ${MAX_SLOTS_AT_ONCE}.`,
  );
}

function setFault(controls: Controls, params: Params): true {
  const fault = read(faultSchema, params.requiredConfig(2));
  const terms = params.isNumber(3) ? { times: params.integer(3) } : params.config(3);
  run(() => controls.setFault(params.integer(0), params.string(1), fault, read(faultTermsSchema, terms)));
  return true;
}

function clearFaults(controls: Controls, params: Params): true {
  const node = params.has(0) ? params.integer(0) : undefined;
  const method = params.has(1) ? params.string(1) : undefined;
  run(() => controls.clearFaults(node, method));
  return true;
}

/**
 * The controls as JSON-RPC methods, for a chain in a process of its own. Every node serves them, and faults of `*` do not affect them.
 * - `localnet_healthy` calls one of `methods` without faults. Parameters: the method's name, then the method's parameters.
 * - `localnet_produceSlots` equals that many calls of `localnet_produceSlot` and returns the slot of the last block.
 */
export function controlMethods(controls: Controls, methods: MethodTable): MethodTable {
  return {
    localnet_healthy: (params, view) => {
      const name = params.string(0);
      const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
      if (method === undefined) throw failures.methodNotFound();
      return method(params.rest(1), view);
    },
    localnet_produceSlot: () => controls.produceSlot(),
    localnet_produceSlots: (params) => controls.produceSlots(slotCount(params)),
    localnet_fork: (params) => run(() => controls.fork(params.integer(0))),
    localnet_setFault: (params) => setFault(controls, params),
    localnet_clearFaults: (params) => clearFaults(controls, params),
    localnet_includeUnpayable: (params) => {
      controls.includeUnpayable(params.boolean(0));
      return true;
    },
    localnet_faultsMet: (params) =>
      run(() => controls.faultsMet(params.has(0) ? params.integer(0) : undefined)),
    localnet_atStake: (params) => controls.chain.countAtStake(params.integer(0)),
    localnet_undone: () => controls.chain.rolledBackCount,
    localnet_inFlight: (params) => controls.chain.inFlight(params.address(0)),
    localnet_createPausableMint: () => controls.queuePausableMint(),
    localnet_setPaused: (params) => controls.queuePaused(params.address(0), params.boolean(1)),
    localnet_setFrozen: (params) =>
      controls.queueFrozen(params.address(0), params.address(1), params.boolean(2)),
    localnet_mintTo: (params) =>
      controls.queueMintTo(params.address(0), params.address(1), amount(params, 2)),
  };
}
