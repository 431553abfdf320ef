import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS } from './installed.js';

/** A key, and a certificate for 127.0.0.1 that it has signed itself, as files of a directory. */
export interface TlsCertificate {
  readonly certificate: string;
  readonly key: string;
  /** The certificate's text, for clients to trust. */
  readonly ca: string;
}

/** Makes one that is good for a day; needs openssl. */
export function tlsCertificate(directory: string): TlsCertificate {
  const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const name = ['-subj', '/CN=latchkey.test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const args = ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', certificate];
  execFileSync('openssl', args, { stdio: 'pipe', env: { PATH: PROGRAMS } });
  return { certificate, key, ca: readFileSync(certificate, 'utf8') };
}
