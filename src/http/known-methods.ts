import type { FastifyInstance } from 'fastify';

/** Returns a function that maps a path to its methods. It covers only routes that are added after this call. */
export function knownMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const routes = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url: routeUrl, method }) => {
    const url = withoutSlash(routeUrl);
    const { pattern, methods } = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const each of [method].flat()) methods.add(each);
    routes.set(url, { pattern, methods });
  });
  return (requestedPath) => {
    const path = withoutSlash(requestedPath);
    // `/v1/deposit-addresses/import` is not a deposit address, although the pattern matches it.
    const exactRoute = routes.get(path);
    const matchingRoutes =
      exactRoute === undefined
        ? [...routes.values()].filter(({ pattern }) => pattern.test(path))
        : [exactRoute];
    return matchingRoutes.flatMap(({ methods }) => [...methods]).sort();
  };
}

/** Fastify serves the root of a prefix with and without a trailing slash, but reports GET for only one of the two. */
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
