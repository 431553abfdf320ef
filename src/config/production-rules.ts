import { quote } from './invalid-settings.js';
import type { Faults } from './invalid-settings.js';
import { isLoopbackUrl } from './loopback.js';
import type { Environment } from './setting-row.js';
import type { Values } from './settings.js';

/** Refuses settings that are not for production (contract §2, last paragraph). Those of a provider: `parse-provider.ts`. */
export function applyProductionRules(values: Values, env: Environment, faults: Faults): void {
  const { databaseUrl, secretKey, redirectUris, rateLimit, trustProxy, publicUrl } = values;
  if (databaseUrl === undefined && !env['DATA_DIR']) {
    const accepts = 'a PostgreSQL URL in production, or DATA_DIR set on purpose for the embedded one';
    faults.add('DATABASE_URL', 'was unset', accepts);
  }
  if (secretKey === undefined) {
    faults.add('SECRET_KEY', 'was unset', 'at least 32 bytes as hex or base64, required in production');
  }
  if (redirectUris === undefined) {
    faults.add('REDIRECT_URIS', 'was unset', 'a comma-separated allow-list, required in production');
  }
  if (rateLimit && (trustProxy === undefined || trustProxy === true)) {
    const was = trustProxy === true ? 'was "true"' : 'was unset';
    const accepts =
      'false, a number of hops or addresses of proxies in production with rate limits on, which could otherwise be evaded or hit everybody';
    faults.add('TRUST_PROXY', was, accepts);
  }
  if (publicUrl?.startsWith('http:') && !isLoopbackUrl(publicUrl)) {
    faults.add('PUBLIC_URL', quote(publicUrl), 'https:// in production, unless the host is loopback');
  }
}
