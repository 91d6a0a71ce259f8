import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type RoutesHeads, type RoutesRequest, routesStep } from '../../src/domain/route-versions.ts';

interface Stored {
  readonly hash: string;
  readonly isOfFile: boolean;
}

/** The versions after the request, and what the request did. */
function apply(versions: readonly Stored[], request: RoutesRequest) {
  const heads = headsOf(versions);
  const step = routesStep(heads, request);
  const next =
    step === 'store' ? [...versions, { hash: request.hash, isOfFile: request.kind !== 'put' }] : versions;
  return { step, versions: next };
}

function headsOf(versions: readonly Stored[]): RoutesHeads {
  const all = versions.map(({ hash, isOfFile }, index) => ({ position: BigInt(index) + 1n, hash, isOfFile }));
  return { newest: all.at(-1) ?? null, newestOfFile: all.findLast(({ isOfFile }) => isOfFile) ?? null };
}

const hash = fc.constantFrom('a', 'b', 'c');
const file = fc.record({ kind: fc.constantFrom('start' as const, 'reload' as const), hash });
const put = fc.record({ kind: fc.constant('put' as const), hash, expected: fc.bigInt(0n, 8n) });
const history = fc.array(fc.oneof(file, put), { maxLength: 12 });

const after = (requests: readonly RoutesRequest[]) =>
  requests.reduce<readonly Stored[]>((versions, request) => apply(versions, request).versions, []);

it('a start with a file that was started or reloaded last changes nothing, whatever was put since', () => {
  fc.assert(
    fc.property(history, file, fc.array(put, { maxLength: 5 }), (before, last, puts) => {
      const versions = after([...before, last, ...puts]);
      expect(apply(versions, { kind: 'start', hash: last.hash })).toEqual({ step: 'keep', versions });
    }),
  );
});

it('a start with another file, and every reload, sell that file', () => {
  fc.assert(
    fc.property(history, file, (before, request) => {
      const versions = after(before);
      const newestOfFile = headsOf(versions).newestOfFile?.hash;
      if (request.kind === 'start' && newestOfFile === request.hash) return;
      expect(apply(versions, request).versions.at(-1)?.hash).toBe(request.hash);
    }),
  );
});

it('a put never replaces a version that its author has not seen, and counts once however often it is sent', () => {
  fc.assert(
    fc.property(history, put, (before, request) => {
      const versions = after(before);
      const first = apply(versions, request);
      if (first.step === 'store') expect(BigInt(versions.length)).toBe(request.expected);
      if (first.step === 'conflict') expect(first.versions).toBe(versions);
      else expect(first.versions.at(-1)?.hash).toBe(request.hash);
      if (first.step !== 'conflict')
        expect(apply(first.versions, request)).toEqual({ ...first, step: 'keep' });
    }),
  );
});
