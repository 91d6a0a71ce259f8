import { expect, it } from 'vitest';
import { faultsOf, free, priced } from './file.ts';

const example = { city: 'Paris' };

it.each([
  ['a schema without an example', { input: { schema: {} } }, '.input.example: must be set beside the schema'],
  [
    'an example that breaks its schema',
    { output: { schema: { type: 'object', required: ['days'] }, example } },
    '.output.example: does not obey the schema',
  ],
  [
    'a schema of another document',
    { input: { schema: { $ref: 'http://attacker.example' }, example } },
    '.input.schema: must have no $ref or $id outside of the schema',
  ],
  [
    'query parameters that are no object',
    { input: { example: 'Paris' } },
    '.input.example: must be an object of query parameters',
  ],
  [
    'a body of a GET',
    { input: { bodyType: 'json' } },
    '.input.bodyType: must not be set, because the method has no body',
  ],
  [
    'more than 2 KiB',
    { input: { example: { text: 'x'.repeat(2_048) } } },
    ': must have at most 2048 bytes of JSON',
  ],
  ['an unknown key', { inputs: {} }, '.inputs: is not a known key'],
])('a description with %s is refused', (_what, discovery, fault) => {
  expect(faultsOf([priced('/weather', { discovery })])).toEqual([`routes[0].discovery${fault}`]);
});

it('one description of a query and of a body is refused, and that of a free route', () => {
  const both = priced('/weather', { methods: ['GET', 'POST'], discovery: { input: { example } } });
  expect(faultsOf([both, free('/free', { discovery: {} })])).toEqual([
    'routes[0].discovery.input: must be set in a route whose methods all have a body, or all have none',
    'routes[1].discovery: must not be set, because the route is free',
  ]);
  expect(faultsOf([priced('/weather', { methods: ['GET', 'POST'], discovery: {} })])).toEqual([]);
});
