import type { LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from '../../config/urls/public-address.js';

/**
 * Makes a `lookup` for new connections that fails if a host has an address outside of the Internet. The connection goes to an address
 * that was checked, so another answer of the name server later (DNS rebinding) changes nothing.
 *
 * @param resolve `lookup` of node:dns
 */
export function checkedLookup(resolve: typeof lookup): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      const refused = error ?? refusalOf(addresses);
      if (refused) return callback(refused, []);
      if (options.all) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function refusalOf(addresses: readonly LookupAddress[]): Error | undefined {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return undefined;
  return new Error('the host has an address in a private network (WEBHOOK_PRIVATE)');
}
