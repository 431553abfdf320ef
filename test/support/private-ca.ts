import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { PROGRAMS } from './installed.js';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Makes a certification authority in a directory, and its certificate for one host.
 * @param host `DNS:<name>` or `IP:<address>`
 * @returns the paths of their files
 */
export function privateCa(directory: string, host = 'DNS:localhost'): { ca: string; server: Certificate } {
  const path = (name: string): string => join(directory, name);
  const openssl = (line: string): unknown =>
    execFileSync('openssl', line.split(' '), { cwd: directory, stdio: 'pipe', env: { PATH: PROGRAMS } });
  const newKey = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1';
  openssl(`${newKey} -subj /CN=ours -keyout ca.key -out ca.pem`);
  const name = `-subj /CN=server -addext subjectAltName=${host} -addext basicConstraints=critical,CA:FALSE`;
  openssl(`${newKey} -CA ca.pem -CAkey ca.key ${name} -keyout server.key -out server.pem`);
  return { ca: path('ca.pem'), server: { certificate: path('server.pem'), key: path('server.key') } };
}
