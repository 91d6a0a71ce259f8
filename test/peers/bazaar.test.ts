import {
  type BodyDiscoveryExtension,
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  isValidRouteTemplate,
  type QueryDiscoveryExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar';
import { describe, expect, it } from 'vitest';
import { bazaarExtension } from '../../src/x402/formats/bazaar.ts';
import { obeys } from '../../src/x402/routes/discovery.ts';
import { priced, readOne } from '../x402/routes/file.ts';

const SCHEMA = { properties: { city: { type: 'string' } }, required: ['city'] };
const INPUT = { schema: SCHEMA, example: { city: 'Paris' } };
const OUTPUT = { schema: { properties: { degrees: { type: 'integer' } } }, example: { degrees: 20 } };

/** The extension of the official server for the same route. */
function official(method: 'GET' | 'POST', path: string, routePattern: string) {
  const common = { input: INPUT.example, inputSchema: SCHEMA, output: OUTPUT };
  const declared =
    method === 'GET' ? { method, ...common } : { method, bodyType: 'json' as const, ...common };
  const [declaration] = Object.values(declareDiscoveryExtension(declared));
  const context = { method, routePattern, adapter: { getPath: () => path } };
  return bazaarResourceServerExtension.enrichDeclaration?.(declaration, context) as QueryDiscoveryExtension;
}

describe.each([
  ['GET', '/weather', '/weather'],
  ['GET', '/weather/Paris', '/weather/:city'],
  ['GET', '/files/a', '/files/*'],
  ['POST', '/weather/Paris/days', '/weather/:city/days'],
] as const)('the extension of %s %s under %s', (method, path, pattern) => {
  const route = readOne(priced(pattern, { method, discovery: { input: INPUT, output: OUTPUT } }));
  if (route.discovery === null) throw new Error('the route has no discovery');
  const ours = bazaarExtension({ ...route, discovery: route.discovery }, '', path);
  const typed = ours as unknown as QueryDiscoveryExtension | BodyDiscoveryExtension;

  it('has the info and the template of the official server', () => {
    const { info, routeTemplate } = official(method, path, pattern);
    expect([ours['info'], ours['routeTemplate']]).toEqual([info, routeTemplate]);
  });

  it('is valid for the official facilitator, and for ours', () => {
    expect(validateDiscoveryExtensionSpec(ours)).toEqual({ valid: true });
    expect(validateDiscoveryExtension(typed)).toEqual({ valid: true });
    expect(obeys(ours['schema'], ours['info'])).toBe(true);
    const { routeTemplate } = typed;
    expect(routeTemplate === undefined || isValidRouteTemplate(routeTemplate)).toBe(true);
  });
});
