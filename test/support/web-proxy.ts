import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deployed, complaints, ProxyProcess } from './proxy-process.js';
import { freePort } from './free-port.js';
import { isInstalled, PROGRAMS } from './installed.js';

/** A key, and a certificate for 127.0.0.1 that it has signed itself, as files of a directory. */
interface TlsCertificate {
  readonly certificate: string;
  readonly key: string;
  /** The certificate's text, for clients to trust. */
  readonly ca: string;
}

/** Makes one that is good for a day; needs openssl. */
function tlsCertificate(directory: string): TlsCertificate {
  const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const name = ['-subj', '/CN=latchkey.test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const args = ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', certificate];
  execFileSync('openssl', args, { stdio: 'pipe', env: { PATH: PROGRAMS } });
  return { certificate, key, ca: readFileSync(certificate, 'utf8') };
}

export const hasWebProxies = ['nginx', 'haproxy', 'openssl'].every(isInstalled);

export type Kind = 'nginx' | 'haproxy';
type Changes = Readonly<Record<string, string>>;

/** Who a program becomes when root starts it is for root alone to say. */
const isRoot = process.getuid?.() === 0;
const ADDRESSES = ['10.0.0.11:3000', '10.0.0.12:3000', '10.0.0.13:3000'];

/** nginx or HAProxy before instances, with the configuration of deploy/ as it stands. */
export class WebProxy {
  private process?: ProxyProcess;

  private constructor(
    private readonly kind: Kind,
    private readonly directory: string,
    private readonly port: number,
    /** What its clients have to trust. */
    readonly ca: string,
  ) {}

  /**
   * @param instances their URLs; where there are fewer than in the file, the last one stands there more than once
   * @param changes more of them, beside addresses and paths
   */
  static async before(kind: Kind, instances: readonly string[], changes: Changes = {}): Promise<WebProxy> {
    const directory = mkdtempSync(join(tmpdir(), `latchkey-${kind}-`));
    const { certificate, key, ca } = tlsCertificate(directory);
    const proxy = new WebProxy(kind, directory, await freePort(), ca);
    const both = join(directory, 'both.pem');
    writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
    const addresses = ADDRESSES.map((address, i): [string, string] => [
      address,
      `127.0.0.1:${new URL(instances[i] ?? instances.at(-1)!).port}`,
    ]);
    const other = String(await freePort());
    const paths: Changes =
      kind === 'nginx'
        ? {
            ...(!isRoot && { 'user www-data;': '' }),
            '/run/nginx.pid': join(directory, 'pid'),
            '/var/log/nginx/error.log': join(directory, 'error.log'),
            '/var/log/nginx/access.log': join(directory, 'access.log'),
            'listen 80;': `listen 127.0.0.1:${other};`,
            'listen 443 ssl;': `listen 127.0.0.1:${proxy.port} ssl;`,
            '/etc/ssl/id.example/fullchain.pem': certificate,
            '/etc/ssl/id.example/privkey.pem': key,
            'http {\n': `http {\n${temporaryPaths(directory)}`,
          }
        : {
            ...(!isRoot && { '    user haproxy\n    group haproxy\n': '' }),
            'log /dev/log local0': 'log stdout format raw local0',
            'maxconn 20000': 'maxconn 500', // whoever starts it must be allowed twice as many file descriptors
            'bind :80\n': `bind 127.0.0.1:${other}\n`,
            'bind :443 ': `bind 127.0.0.1:${proxy.port} `,
            '/etc/ssl/id.example/haproxy.pem': both,
          };
    const file = kind === 'nginx' ? 'nginx.conf' : 'haproxy.cfg';
    writeFileSync(proxy.file, deployed(file, { ...paths, ...Object.fromEntries(addresses), ...changes }));
    return proxy;
  }

  /** `https://127.0.0.1:<port>` */
  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** What the program says of the configuration; empty when it has nothing to say. */
  complaints(): string {
    return complaints(this.kind, this.kind === 'nginx' ? ['-t', '-c', this.file] : ['-c', '-f', this.file]);
  }

  async start(): Promise<this> {
    const args = this.kind === 'nginx' ? ['-g', 'daemon off;', '-c', this.file] : ['-db', '-f', this.file];
    this.process = await ProxyProcess.start(this.kind, args, this.port);
    return this;
  }

  /** All that it has logged. */
  readonly log = (): string => {
    const files = ['access.log', 'error.log'].map((name) => join(this.directory, name)).filter(existsSync);
    return [...files.map((file) => readFileSync(file, 'utf8')), this.process?.output()].join('\n');
  };

  /** The lines of the log that tell why a request failed: those of requests answered with 5xx, and what nginx says besides. */
  errors(): string {
    const lines = this.log().split('\n');
    return lines.filter((line) => /\[error\]|\s5\d\d\s/.test(line)).join('\n');
  }

  async stop(): Promise<void> {
    await this.process?.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private get file(): string {
    return join(this.directory, 'configuration');
  }
}

/** nginx makes them at its start, by default where only root may. */
function temporaryPaths(directory: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return kinds.map((kind) => `    ${kind}_temp_path ${join(directory, kind)};\n`).join('');
}
