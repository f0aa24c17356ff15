import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Of the eight groups of an IPv6 address: what follows is for whoever has the network to choose (RFC 4291 §2.5.4). */
const NETWORK_GROUPS = 4;
/** Addresses remembered at most: reading one takes some microseconds, and every request asks. */
const REMEMBERED = 10_000;

const networks = new LRUCache<string, string>({ max: REMEMBERED, memoMethod: readNetwork });

/**
 * Who is counted for an address: whoever has one IPv6 address has all 2⁶⁴ of its network, and they are one.
 * @param address as a socket or a proxy tells it
 * @returns an IPv4 address, also for one that is written as IPv6 (RFC 4291 §2.5.5.2); else a /64; what is no address
 *   as it is
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
