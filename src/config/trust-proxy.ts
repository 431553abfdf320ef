import { isIP, isIPv4 } from 'node:net';
import { kind } from './kind.js';

const RANGES = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** The values of Express's `trust proxy`: everything accepted here, Express accepts too. */
export const trustProxy = kind(
  'true, false, a number of hops from 0 to 99, or a comma-separated list of addresses, subnets (10.0.0.0/8), loopback, linklocal, uniquelocal',
  (text): boolean | number | string | undefined => {
    if (text === 'true' || text === 'false') return text === 'true';
    if (/^\d{1,2}$/.test(text)) return Number(text);
    const entries = text.split(',').map((entry) => entry.trim());
    return entries.every((entry) => RANGES.has(entry) || isSubnet(entry)) ? entries.join(',') : undefined;
  },
);

/** An address, or an address and a prefix length; a length of 0 (everybody) is refused, as Express does. */
function isSubnet(entry: string): boolean {
  const [address = '', prefix, more] = entry.split('/');
  if (!isIP(address) || address.includes('%') || more !== undefined) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (isIPv4(address) ? 32 : 128);
}
