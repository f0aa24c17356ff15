import ipaddr from 'ipaddr.js';

/** The only addresses of the public internet among those of IPv6 (RFC 4291 §2.4, IANA). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an IP address is of the public internet. The ranges of private networks, this machine, links, documentation and
 * transition mechanisms are not; an IPv4 address that is written as IPv6 counts as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  // The platform address of virtual machines of Azure.
  if (parsed.toString() === '168.63.129.16') return false;
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST));
}
