import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Of the eight groups of an IPv6 address. The owner of the network chooses the other four (RFC 4291 §2.5.4). */
const NETWORK_GROUPS = 4;
/** Addresses in the cache. Parsing one takes some microseconds, for every request. */
const MAX_ADDRESSES = 10_000;

const networks = new LRUCache<string, string>({ max: MAX_ADDRESSES, memoMethod: readNetwork });

/**
 * The subject that is counted for an address. A client with one IPv6 address has all 2⁶⁴ of its network.
 * @param address as a socket or a proxy gives it
 * @returns the IPv4 address, also for one that is written as IPv6 (RFC 4291 §2.5.5.2), or the /64 network; any other
 *   text as it is
 */
export function networkOf(address: string): string {
  return address.includes(':') ? networks.memo(address) : address;
}

function readNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}
