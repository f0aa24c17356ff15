import { networkOf } from './limit.js';

describe('the unit of counting for an address', () => {
  it.each([
    ['an IPv4 address itself', '192.0.2.1', '192.0.2.1'],
    ['the same for one that is written as IPv6', '::ffff:192.0.2.1', '192.0.2.1'],
    ['and in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
    ['the /64 of an IPv6 address', '2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['however it is written', '2001:0DB8::1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['another one next to it', '2001:db8:0:2::1', '2001:db8:0:2::/64'],
    ['one on a link', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['this machine', '::1', '0:0:0:0::/64'],
    ['what is no address, as it is', 'un:known', 'un:known'],
    ['nothing', '', ''],
  ])('%s', (_what, address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
