import { securityHeaders } from './security-headers.js';

describe('the security headers', () => {
  it('enforce TLS if clients use it, for this host only', () => {
    expect(securityHeaders({ baseUrl: 'https://directory.example.org' })['strict-transport-security']).toBe(
      'max-age=31536000',
    );
    expect(securityHeaders({ baseUrl: 'http://127.0.0.1:3000' })).not.toHaveProperty(
      'strict-transport-security',
    );
  });
});
