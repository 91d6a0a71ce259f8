// The borders between the rooms, for oxlint: `node scripts/borders.mjs` writes .oxlintrc.borders.json from the table below, and with
// `--check` it fails where that file is not up to date. CONTRIBUTING.md describes the rooms.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../.oxlintrc.borders.json', import.meta.url));
/** Maximum depth of the folders below a room. */
const LEVELS = 3;

const GROUND = ['domain', 'shims'];
const CORE = [...GROUND, 'solana', 'ledger', 'signing', 'settlement'];
const CAPABILITIES = ['withdrawals', 'deposits', 'treasury', 'webhooks', 'x402'];
const MESSAGES = ['workflows/messages.ts', 'workflows/search-attributes.ts'];

/**
 * Each room, from the ground up, with the rooms and files that it may import beside its own. `types`: only their types.
 * @type {Record<string, Record<string, { may: string[], types?: string[], packages?: string }>>}
 */
const FLOORS = {
  src: {
    shims: { may: [] },
    domain: { may: [], packages: '^[^.]' },
    client: { may: ['domain'] },
    solana: { may: GROUND },
    ledger: { may: GROUND },
    signing: { may: [...GROUND, 'solana'] },
    settlement: { may: CORE },
    ...Object.fromEntries(CAPABILITIES.map((room) => [room, { may: CORE }])),
    activities: { may: [...CORE, ...CAPABILITIES] },
    workflows: {
      may: ['domain'],
      types: ['activities'],
      packages: '^([^.@]|@[^t]|@temporalio/[^wc]|@temporalio/(worker|client|core))',
    },
    platform: { may: [...GROUND, ...MESSAGES] },
    http: { may: [...GROUND, 'solana', 'ledger', 'deposits', 'webhooks', 'platform', ...MESSAGES] },
    cli: { may: [...GROUND, 'client', 'solana', 'ledger', 'deposits', 'x402', 'platform'] },
    'platform/roles': { may: [...CORE, ...CAPABILITIES, 'activities', 'workflows'] },
    '': { may: [] },
  },
  devkit: {
    localnet: { may: ['../src/shims'] },
    localstack: {
      may: ['client', 'domain', 'ledger', 'platform', 'shims', 'signing', 'solana', ...MESSAGES].map(product),
    },
    demo: { may: ['localstack', ...['cli', 'client', 'domain', 'platform', 'solana'].map(product)] },
  },
};

/** @param {string} room */
function product(room) {
  return `../src/${room}`;
}

/** What files of the room import, that many folders below `base`: `../` so many times leads to it. @param {string} up @param {string[]} rooms */
const below = (up, rooms) => rooms.map((room) => (room.endsWith('.ts') ? `${up}${room}` : `${up}${room}/**`));

/** @param {string} base @param {string} room @param {number} level @param {{ may: string[], types?: string[], packages?: string }} rule */
function override(base, room, level, { may, types = [], packages }) {
  const folders = [...(room === '' ? [] : room.split('/')), ...Array(level).fill('*')];
  const up = '../'.repeat(room === '' ? 1 : folders.length);
  const allowed = below(up, [...may, ...types]).map((pattern) => `!${pattern}`);
  const message = `${room || base} imports only ${may.join(', ') || 'itself'}: see scripts/borders.mjs`;
  const onlyTypes = { allowTypeImports: true, message: `${room} imports only types of ${types.join(', ')}` };
  const patterns = [
    // This group must be first: oxlint stops at a pattern with `!` that matches.
    ...(types.length === 0
      ? []
      : [{ regex: `^${up.replaceAll('.', '\\.')}(${types.join('|')})/`, ...onlyTypes }]),
    { group: [`${up}**`, ...allowed], message },
    ...(packages === undefined ? [] : [{ regex: packages, message: `${room} imports none of this package` }]),
  ];
  const files = [[base, ...folders, '*.{ts,mts,mjs}'].join('/')];
  return { files, rules: { 'no-restricted-imports': ['error', { patterns }] } };
}

const overrides = Object.entries(FLOORS).flatMap(([base, rooms]) =>
  Object.entries(rooms).flatMap(([room, rule]) =>
    Array.from({ length: room === '' ? 1 : LEVELS }, (_, level) => override(base, room, level, rule)),
  ),
);
const lines = overrides.map((line) => `    ${JSON.stringify(line)}`).join(',\n');
// Without a list of plugins, this file would enable oxlint's default plugins.
const text = `{\n  "plugins": [],\n  "overrides": [\n${lines}\n  ]\n}\n`;

if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (readFileSync(FILE, 'utf8') !== text) {
  process.stdout.write('.oxlintrc.borders.json is not up to date: run npm run generate\n');
  process.exit(1);
}
