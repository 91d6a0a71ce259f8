import type { FastifyInstance } from 'fastify';

/** Returns a function from a path to the methods that `app` serves there. Knows only routes added after this call. */
export function knownMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const routes = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url: announced, method }) => {
    const url = withoutSlash(announced);
    const { pattern, methods } = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, { pattern, methods });
  });
  return (requested) => {
    const path = withoutSlash(requested);
    // `/v1/deposit-addresses/import` is not a deposit address, although the pattern matches it.
    const exact = routes.get(path);
    const found =
      exact === undefined ? [...routes.values()].filter(({ pattern }) => pattern.test(path)) : [exact];
    return found.flatMap(({ methods }) => [...methods]).sort();
  };
}

/** Fastify serves the root of a prefix with and without trailing slash, but announces GET for only one of them. */
function withoutSlash(path: string): string {
  return path.replace(/\/$/, '');
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
