import { securityHeaders } from './security-headers.js';

describe('the security headers', () => {
  it('keep browsers to TLS where that is how clients reach the service, and say nothing of other hosts', () => {
    expect(securityHeaders({ baseUrl: 'https://directory.example.org' })['strict-transport-security']).toBe(
      'max-age=31536000',
    );
    expect(securityHeaders({ baseUrl: 'http://127.0.0.1:3000' })).not.toHaveProperty(
      'strict-transport-security',
    );
  });
});
