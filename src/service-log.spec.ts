import { readConfig } from './config/config.js';
import { describeStart } from './service-log.js';

describe('the log after a start', () => {
  it('contains the demonstration token, if there is one', () => {
    expect(describeStart(readConfig({}), 'a-token')).toContain('Service account «demo», token a-token');
  });

  it('has no token where programs keep the log, but says where it is', () => {
    const text = describeStart(readConfig({}), 'a-token', false);
    expect(text).not.toContain('a-token');
    expect(text).toContain('Service account «demo»: only a log with LOG_FORMAT=text shows its token');
  });

  it('has no queries that the service refuses', () => {
    const config = readConfig({});
    const trustedDocuments = { documents: new Map<string, string>(), isEnforced: true };
    expect(describeStart(config, 'a-token')).toContain('Try:');
    expect(describeStart({ ...config, trustedDocuments }, 'a-token')).not.toMatch(/Try:|curl/);
  });

  it('describes how to create an account with a directory other than the sample', () => {
    const text = describeStart(readConfig({ DIRECTORY_URL: 'ldap://directory.example.org' }), null);
    expect(text).toContain('service-account create --id ID');
    expect(text).not.toMatch(/«demo»|token \S+/);
  });
});
