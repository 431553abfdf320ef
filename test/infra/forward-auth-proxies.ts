import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { deployed, ProxyProcess } from './proxy-process.js';

export const FORWARD_AUTH_PROXIES = ['nginx', 'caddy', 'traefik'] as const;
export type ForwardAuthProxy = (typeof FORWARD_AUTH_PROXIES)[number];

interface Behind {
  /** Addresses, as `127.0.0.1:3000`. */
  readonly latchkey: string;
  readonly api: string;
}

export interface RunningProxy {
  readonly port: number;
  output(): string;
  stop(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;

/** Starts a proxy with its files of deploy/forward-auth/: other addresses and paths, and without TLS. */
export async function startForwardAuth(
  kind: ForwardAuthProxy,
  behind: Behind,
  changes: Readonly<Record<string, string>> = {},
): Promise<RunningProxy> {
  const directory = mkdtempSync(join(tmpdir(), `latchkey-forward-auth-`));
  const port = await freePort();
  const addresses = { '10.0.0.11:3000': behind.latchkey, '10.0.0.21:8080': behind.api, ...changes };
  const write = (name: string, file: string, others: Readonly<Record<string, string>>): string => {
    const path = join(directory, name);
    writeFileSync(path, deployed(`forward-auth/${file}`, others));
    return path;
  };
  const args = {
    nginx: () => {
      mkdirSync(join(directory, 'forward-auth'));
      write('forward-auth/nginx-call.conf', 'nginx-call.conf', {});
      const file = write('nginx.conf', 'nginx.conf', {
        ...addresses,
        ...(!isRoot && { 'user www-data;': '' }),
        '/run/nginx.pid': join(directory, 'pid'),
        '/var/log/nginx/error.log warn': 'stderr warn',
        '/var/log/nginx/access.log': 'off',
        'listen 443 ssl;': `listen 127.0.0.1:${port};`,
        'ssl_certificate /etc/ssl/api.example/fullchain.pem;': '',
        'ssl_certificate_key /etc/ssl/api.example/privkey.pem;': '',
      });
      return ['-g', 'daemon off;', '-c', file];
    },
    caddy: () => [
      'run',
      '--adapter',
      'caddyfile',
      '--config',
      write('Caddyfile', 'Caddyfile', {
        ...addresses,
        '(latchkey) {': `{\n\tadmin off\n\tpersist_config off\n}\n\n(latchkey) {`,
        'api.example {': `http://api.example:${port} {\n\tbind 127.0.0.1`,
      }),
    ],
    traefik: () => {
      const routes = write('traefik-routes.yml', 'traefik-routes.yml', {
        ...addresses,
        'Host(`api.example`)': 'HostRegexp(`.*`)',
        '      tls: {}\n': '',
      });
      const file = write('traefik.yml', 'traefik.yml', {
        '/etc/traefik/traefik-routes.yml': routes,
        "':443'": `127.0.0.1:${port}`,
      });
      return [`--configFile=${file}`];
    },
  }[kind]();
  const proxy = await ProxyProcess.start(kind, args, port, directory);
  return {
    port,
    output: () => proxy.output(),
    async stop() {
      await proxy.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
