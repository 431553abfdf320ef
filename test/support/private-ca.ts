import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Makes a certification authority in a directory, and its certificate for the host `localhost`.
 * @returns the paths of their files
 */
export function privateCa(directory: string): { ca: string; server: Certificate } {
  const path = (name: string): string => join(directory, name);
  const openssl = (line: string): unknown =>
    execFileSync('openssl', line.split(' '), { cwd: directory, stdio: 'pipe' });
  const newKey = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1';
  openssl(`${newKey} -subj /CN=ours -keyout ca.key -out ca.pem`);
  const localhost =
    '-subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE';
  openssl(`${newKey} -CA ca.pem -CAkey ca.key ${localhost} -keyout server.key -out server.pem`);
  return { ca: path('ca.pem'), server: { certificate: path('server.pem'), key: path('server.key') } };
}
