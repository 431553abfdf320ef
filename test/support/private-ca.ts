import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Makes a certification authority of our own, in a directory, and a certificate of it for the host `localhost`.
 * @returns the paths of their files
 */
export function privateCa(directory: string): { ca: string; server: Certificate } {
  const path = (name: string): string => join(directory, name);
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-subj',
    '/CN=Our CA',
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
  );
  openssl(
    ...['req', '-x509', ...newKey, '-CA', path('ca.pem'), '-CAkey', path('ca.key')],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
    ...['-keyout', path('server.key'), '-out', path('server.pem')],
  );
  return { ca: path('ca.pem'), server: { certificate: path('server.pem'), key: path('server.key') } };
}
