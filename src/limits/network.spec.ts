import { networkOf } from './limits.js';

describe('the unit of counting for an address', () => {
  it.each([
    ['is an IPv4 address itself', '192.0.2.1', '192.0.2.1'],
    ['is the same for an IPv4-mapped IPv6 address', '::ffff:192.0.2.1', '192.0.2.1'],
    ['is the same in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
    ['is the /64 of an IPv6 address', '2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['is the same in every notation', '2001:0DB8::1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['differs for the next network', '2001:db8:0:2::1', '2001:db8:0:2::/64'],
    ['is a link-local network', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['is the loopback address', '::1', '0:0:0:0::/64'],
    ['is other text unchanged', 'un:known', 'un:known'],
    ['is empty for empty text', '', ''],
    ['is one for all clients that have reset their connections', undefined, 'unknown'],
  ])('%s', (_what, address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
