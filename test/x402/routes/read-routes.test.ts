import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { readRoutes, readRoutesFile } from '../../../src/x402/routes/read-routes.ts';
import { routesJsonSchema } from '../../../src/x402/routes/schema.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { DEVNET, faultsOf, free, MINT, priced, read, readOne, UPSTREAM, USDC, WALLET } from './file.ts';

const NO_LIMITS = { finalizedAbove: null, confirmedByTwoAbove: null };

describe('a routes file', () => {
  it('has a route for each method of an entry, with an id of method and pattern', () => {
    const routes = read([
      priced('/reports/:id'),
      priced('/jobs', { methods: ['POST', 'PUT'] }),
      free('/health', { method: 'GET' }),
      free('/*', { widerThanPriced: true }),
    ]);
    expect(routes.map(({ id, kind }) => [id, kind])).toEqual([
      ['GET /reports/:id', 'priced'],
      ['POST /jobs', 'priced'],
      ['PUT /jobs', 'priced'],
      ['GET /health', 'free'],
      ['GET /*', 'free'],
    ]);
    expect(routes[0]?.segments).toEqual(['reports', ':id']);
  });

  it('has defaults for all fields except path, price, payTo and the source of the answer', () => {
    expect(readOne(priced('/a'))).toEqual({
      kind: 'priced',
      id: 'GET /a',
      method: 'GET',
      segments: ['a'],
      upstream: UPSTREAM,
      upstreamHeaders: {},
      answer: null,
      prices: [{ asset: USDC, amount: 1_000n, decimals: 6, payTo: WALLET, ...NO_LIMITS }],
      upstreamPrice: null,
      description: '',
      mimeType: 'application/json',
      flow: 'settle-first',
      timeoutSeconds: 30,
      maxAnswerBytes: null,
      stream: false,
      retryUnsafe: false,
      paymentIdentifier: 'optional',
      serializedTransaction: 'accepted',
      accessPass: null,
      maxTimeoutSeconds: 60,
      memo: null,
      discovery: null,
    });
  });

  it('prefers the wallet of the route to that of the file', () => {
    expect(readOne(priced('/a', { payTo: MINT })).prices).toMatchObject([{ payTo: MINT }]);
  });

  it('resolves USDC to the mint of its network', () => {
    const text = JSON.stringify({ payTo: WALLET, routes: [priced('/a', { asset: 'USDC' })] });
    const [route] = readRoutes(text, { ...DEVNET, network: NETWORKS['mainnet-beta'] }, 'x');
    expect(route).toMatchObject({ prices: [{ asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' }] });
  });

  it('is named where it is missing or unreadable', () => {
    expect(() => readRoutesFile('/nowhere/x.json', DEVNET)).toThrow(/file \/nowhere\/x.json does not exist$/);
    expect(() => readRoutesFile('/', DEVNET)).toThrow(/^\/ is not a valid routes file:\n {2}EISDIR/);
  });

  it.each([
    ['{', /must be JSON/],
    ['[]', /the file: must be an object/],
    ['{"routes": []}', /routes: must not be empty/],
    ['{"routes": [{"path": "/a", "price": "1", "price": "2"}]}', /the key price appears twice/],
  ])('that is %s is refused', (text, message) => {
    expect(() => readRoutes(text, DEVNET, 'x')).toThrow(message);
  });
});

describe('a price', () => {
  it.each([
    ['a decimal of USDC', { price: '0.001' }, USDC, 1_000n, 6],
    ['a decimal in an object', { price: { decimal: '1.5', asset: 'USDC' } }, USDC, 1_500_000n, 6],
    ['base units of USDC', { price: { amount: '7' } }, USDC, 7n, null],
    ['base units of a mint', { price: { amount: '7' }, asset: MINT }, MINT, 7n, null],
    ['base units with their mint', { price: { amount: '7', asset: MINT } }, MINT, 7n, null],
    [
      'a decimal of a mint with its decimals',
      { price: '0.5', asset: MINT, decimals: 9 },
      MINT,
      500_000_000n,
      9,
    ],
    ['a decimal of the mint of USDC', { price: '2', asset: USDC }, USDC, 2_000_000n, 6],
  ])('may be %s', (_name, keys, asset, amount, decimals) => {
    expect(readOne(priced('/a', keys)).prices).toMatchObject([{ asset, amount, decimals }]);
  });

  it('may also be a mint amount above which the payment must be finalized', () => {
    const keys = { price: { amount: '5' }, finalizedAbove: '0.000004' };
    expect(readOne(priced('/a', keys))).toMatchObject({
      prices: [{ amount: 5n, decimals: 6, finalizedAbove: 4n }],
    });
    const byTwo = { price: { amount: '5' }, confirmedByTwoAbove: '0.000003' };
    expect(readOne(priced('/a', byTwo))).toMatchObject({
      prices: [{ amount: 5n, decimals: 6, confirmedByTwoAbove: 3n }],
    });
  });

  const FORM =
    'must be a decimal in quotes such as "0.001", base units such as {"amount": "1000"}, or {"from": "upstream", "max": "0.5"}';
  const TOO_MUCH = 'must be at most 18446744073709551615 base units';
  it.each([
    [{ price: 0.001 }, `price: ${FORM}`],
    [{ price: '$0.001' }, 'price: must be a decimal in quotes, such as "0.001"'],
    [{ price: '-1' }, 'price: must be a decimal in quotes, such as "0.001"'],
    [{ price: '01' }, 'price: must be a decimal in quotes, such as "0.001"'],
    [{ price: { amount: 1000 } }, `price: ${FORM}`],
    [{ price: { amount: '1.5' } }, 'price.amount: must be base units in quotes, such as "1000"'],
    [{ price: { amount: '1', decimal: '1' } }, `price: ${FORM}`],
    [{ price: { amount: '0' } }, 'price: must be above 0; for a route that costs nothing, set "free": true'],
    [{ price: '0.000' }, 'price: must be above 0; for a route that costs nothing, set "free": true'],
    [{ price: '0.0000001' }, 'price: must have at most 6 digits after the decimal point'],
    [{ price: { amount: '18446744073709551616' } }, `price: ${TOO_MUCH}`],
    [{ price: '1', finalizedAbove: '99999999999999' }, `finalizedAbove: ${TOO_MUCH}`],
    [
      { asset: MINT },
      'price: a decimal price of this asset requires the key decimals; or use base units such as {"amount": "1000"}',
    ],
    [{ asset: 'SOL' }, 'asset: must be USDC or the address of a mint'],
    [
      { asset: MINT, price: { amount: '1', asset: USDC } },
      'asset: must be the same in asset, price, finalizedAbove and confirmedByTwoAbove',
    ],
    [{ decimals: 9 }, 'decimals: must be 6, the decimals of USDC'],
  ])('is refused in %j', (keys, fault) => {
    expect(faultsOf([priced('/a', keys)])).toEqual([`routes[0].${fault}`]);
  });
});

describe('an entry of a routes file', () => {
  it.each([
    [
      'no price',
      { path: '/a', upstream: UPSTREAM },
      '.price: must be set, unless the route has "free": true',
    ],
    ['free: false', { ...priced('/a'), free: false }, '.free: must be true'],
    ['no source of the answer', { path: '/a', price: '1' }, ': must have either upstream or answer'],
    [
      'two sources of the answer',
      priced('/a', { answer: { body: 'x' } }),
      ': must have either upstream or answer',
    ],
    ['an unknown key', priced('/a', { prize: '1' }), '.prize: is not a known key'],
    [
      'two kinds of methods',
      priced('/a', { method: 'GET', methods: ['GET'] }),
      '.methods: must not be set together with method',
    ],
    ['HEAD', priced('/a', { method: 'HEAD' }), '.method: must be one of GET, POST, PUT, PATCH, DELETE'],
    ['no path', { ...priced('/a'), path: undefined }, '.path: is missing'],
    ['a wrong wallet', priced('/a', { payTo: 'me' }), '.payTo: must be a base58 address of 32 bytes'],
    ['a price and free', free('/a', { price: '1' }), '.price: must not be set, because the route is free'],
    [
      'a flow and free',
      free('/a', { flow: 'settle-first' }),
      '.flow: must not be set, because the route is free',
    ],
    ['an upstream by ftp', priced('/a', { upstream: 'ftp://x/' }), '.upstream: must be an http or https URL'],
    [
      'an upstream with a query',
      priced('/a', { upstream: 'http://x/?a' }),
      '.upstream: must not have a user, password, query or fragment',
    ],
    [
      'an upstream with a user',
      priced('/a', { upstream: 'http://me@x/' }),
      '.upstream: must not have a user, password, query or fragment',
    ],
    ['too short a timeout', priced('/a', { maxTimeoutSeconds: 0 }), '.maxTimeoutSeconds: must be at least 5'],
    [
      'a stream that is served first',
      priced('/a', { stream: true, flow: 'serve-first' }),
      '.stream: must not be set with the flow serve-first, which stores the response',
    ],
    [
      'a header that the gateway sets',
      priced('/a', { upstreamHeaders: { 'x-forwarded-for': 'me' } }),
      '.upstreamHeaders.x-forwarded-for: must not be a header that the gateway sets itself',
    ],
    [
      'a header with any variable of the process',
      priced('/a', { upstreamHeaders: { authorization: { env: 'DATABASE_URL' } } }),
      '.upstreamHeaders.authorization.env: must be a variable such as UPSTREAM_TOKEN',
    ],
    [
      'a header of an upstream and a static answer',
      { path: '/a', free: true, answer: { body: '' }, upstreamHeaders: { 'x-a': '1' } },
      '.upstreamHeaders: must not be set, because the answer is static',
    ],
    ['too long a wait', priced('/a', { timeoutSeconds: 601 }), '.timeoutSeconds: must be at most 600'],
    ['too large a limit', priced('/a', { maxAnswerBytes: 1e9 }), '.maxAnswerBytes: must be at most 16777216'],
    ['a long memo', priced('/a', { memo: 'é'.repeat(129) }), '.memo: must have at most 256 bytes'],
    ['a wrong flow', priced('/a', { flow: 'later' }), '.flow: must be one of settle-first, serve-first'],
    [
      'a path of the gateway',
      free('/X402/payments'),
      '.path: /X402/payments must not be under /x402, which the gateway uses',
    ],
    ['one name twice', priced('/:a/:a'), '.path: must not use a :name twice'],
    ['a dot at the end', priced('/a./b'), '.path: must not have a segment that ends with a dot'],
  ])('with %s is refused', (_name, entry, fault) => {
    expect(faultsOf([entry])).toEqual([`routes[0]${fault}`]);
  });

  it.each([
    'a',
    '/a/',
    '//',
    '/a//b',
    '/a/*/b',
    '/a*',
    '/a%20b',
    '/a;b',
    '/a?b',
    '/é',
    '/:',
    '/..',
    '/a/./b',
  ])('with the path %s is refused', (path) => {
    expect(faultsOf([priced(path)])[0]).toMatch(/^routes\[0\]\.path: must /);
  });

  it.each([
    ['/facilitator', '/facilitator', '/facilitator'],
    ['/pay.ments/x402', '/Pay.ments/x402/settle', '/pay.ments/x402'],
    ['/', '/settle', '/settle'],
    ['/', '/verify/:id', '/verify'],
    ['/', '/Supported', '/supported'],
  ])('with the facilitator at %s and the path %s is refused', (facilitatorPath, path, taken) => {
    expect(faultsOf([priced(path)], undefined, { ...DEVNET, facilitatorPath })).toEqual([
      `routes[0].path: ${path} must not be under ${taken}, which the facilitator uses (SLUICE_X402_FACILITATOR_PATH)`,
    ]);
  });

  it.each([
    ['/pay.ments', '/facilitator'],
    ['/pay.ments', '/payments'],
    ['/', '/settled'],
    ['/', '/facilitator/settle'],
  ])('with the facilitator at %s may have the path %s', (facilitatorPath, path) => {
    expect(faultsOf([priced(path)], undefined, { ...DEVNET, facilitatorPath })).toEqual([]);
  });

  it('without payTo is refused where the file has none', () => {
    expect(faultsOf([priced('/a')], {})).toEqual([
      'routes[0].payTo: must be set here or at the top of the file',
    ]);
  });

  it('with a static answer has a content type from its body, and no key of an upstream', () => {
    const text = readOne({ path: '/a', price: '1', answer: { body: 'hé' } });
    const json = readOne({
      path: '/a',
      price: '1',
      answer: { status: 201, headers: { etag: '"1"' }, body: [1] },
    });
    expect(text.answer).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: Buffer.from('hé').toString('base64'),
    });
    expect(json.answer).toEqual({
      status: 201,
      headers: { 'content-type': 'application/json; charset=utf-8', etag: '"1"' },
      body: Buffer.from('[1]').toString('base64'),
    });
    expect(faultsOf([{ path: '/a', price: '1', flow: 'serve-first', answer: { body: '' } }])).toEqual([
      'routes[0].flow: must not be set, because the answer is static',
    ]);
  });

  it.each([
    [{ body: 'x', status: 404 }, 'status: must be at most 399'],
    [{ body: 'x', headers: { 'transfer-encoding': 'chunked' } }, 'headers.transfer-encoding: '],
    [{ body: 'x', headers: { a: 'b\r\nc: d' } }, 'headers.a: must be printable ASCII'],
    [{}, 'body: '],
  ])('with the static answer %j is refused', (answer, fault) => {
    const [only, ...others] = faultsOf([{ path: '/a', price: '1', answer }]);
    expect(only).toContain(`routes[0].answer.${fault}`);
    expect(others).toEqual([]);
  });
});

describe('two routes of one file', () => {
  const same = 'match the same requests';
  const letters = 'differ only in letter case, which an upstream may ignore';
  it.each([
    ['equal', priced('/a'), priced('/a'), `GET /a and GET /a (routes[0]) ${same}`],
    ['equal but for names', priced('/:a/b'), free('/:c/b'), `GET /:c/b and GET /:a/b (routes[0]) ${same}`],
    [
      'equal in one method',
      priced('/a', { methods: ['GET', 'POST'] }),
      priced('/a', { method: 'POST' }),
      `POST /a and POST /a (routes[0]) ${same}`,
    ],
    [
      'different in case',
      priced('/a'),
      free('/A', { method: 'POST' }),
      `POST /A and GET /a (routes[0]) ${letters}`,
    ],
    [
      'crossed',
      priced('/users/:id/posts'),
      free('/users/me/:tab'),
      'GET /users/me/:tab and GET /users/:id/posts (routes[0]) both match /users/me/posts, and neither pattern is narrower: change one, or add a narrower route',
    ],
    [
      'crossed by the rest',
      free('/a/*'),
      priced('/:x/B'),
      'GET /:x/B and GET /a/* (routes[0]) both match /a/B, and neither pattern is narrower: change one, or add a narrower route',
    ],
  ])('that are %s are refused', (_name, one, other, fault) => {
    expect(faultsOf([one, other])).toEqual([`routes[1].path: ${fault}`]);
  });

  it.each([
    ['of different methods', priced('/a'), free('/a', { method: 'POST' })],
    ['a literal and a name', priced('/a/:b'), free('/a/b')],
    ['a name and the rest', priced('/a/*'), free('/a/:b')],
    ['a name and a rest below a literal', priced('/reports/:id'), free('/reports/archive/*')],
    ['crossed, and both free', free('/users/:id/posts'), free('/users/me/:tab')],
    ['of different lengths', priced('/a/:b'), free('/:a/b/c')],
  ])('are allowed: %s', (_name, one, other) => {
    expect(faultsOf([one, other])).toEqual([]);
  });
});

describe('the faults of a routes file', () => {
  it('are reported at once, each with its place', () => {
    const entries = [
      priced('/a', { price: 1, flow: 'never', prize: 1 }),
      { path: '/b', free: true },
      priced('/c'),
      priced('/C'),
    ];
    const faults = faultsOf(entries, { payto: WALLET });
    const places = faults.map((fault) => fault.split(': ')[0]);
    expect(new Set(places)).toEqual(
      new Set([
        'payto',
        'routes[0].flow',
        'routes[0].payTo',
        'routes[0].price',
        'routes[0].prize',
        'routes[1]',
        'routes[2].payTo',
        'routes[3].path',
        'routes[3].payTo',
      ]),
    );
    expect(places).toHaveLength(9);
  });
});

describe('the JSON schema of a routes file', () => {
  const validate = new Ajv2020({ allowUnionTypes: true, formats: { uri: true } }).compile(routesJsonSchema());
  const isValid = (entry: object) => validate({ $schema: './s.json', payTo: WALLET, routes: [entry] });

  it('accepts every file that the reader accepts', () => {
    expect(isValid(priced('/reports/:id', { finalizedAbove: { amount: '9' } }))).toBe(true);
    expect(isValid(free('/*'))).toBe(true);
    expect(isValid({ path: '/a', price: { amount: '1' }, answer: { body: { a: [1, null] } } })).toBe(true);
  });

  it.each([
    ['an unknown key', priced('/a', { prize: 1 })],
    ['neither price nor free', { path: '/a', upstream: UPSTREAM }],
    ['a price and free', free('/a', { price: '1' })],
    ['neither upstream nor answer', { path: '/a', price: '1' }],
    ['a wrong path', priced('/a/')],
    ['method and methods', priced('/a', { method: 'GET', methods: ['GET'] })],
  ])('refuses %s', (_name, entry) => {
    expect(isValid(entry)).toBe(false);
  });
});

it('a header whose environment variable has no usable value is a fault, without the value', () => {
  const entry = priced('/a', {
    upstreamHeaders: { a: { env: 'UPSTREAM_A' }, b: { env: 'UPSTREAM_B' }, c: { env: 'UPSTREAM_C' } },
  });
  const place = { ...DEVNET, upstreamVariables: { UPSTREAM_A: 'one', UPSTREAM_B: 'se\ncret' } };
  const text = ': its environment variable must be set to printable ASCII';
  const faults = ['b', 'c'].map((name) => `routes[0].upstreamHeaders.${name}${text}`);
  expect(faultsOf([entry], { payTo: WALLET }, place)).toEqual(faults);
  expect(faultsOf([entry])).toEqual([]);
});
