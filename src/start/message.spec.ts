import { readConfig } from '../config/config.js';
import { describeStart } from './message.js';

describe('what the log says after a start', () => {
  it('has the token of the demonstration, where there is one', () => {
    expect(describeStart(readConfig({}), 'a-token')).toContain('Service account «demo», token a-token');
  });

  it('says how to make an account beside a directory that is not the sample', () => {
    const text = describeStart(readConfig({ DIRECTORY_URL: 'ldap://directory.example.org' }), null);
    expect(text).toContain('service-account create --id ID');
    expect(text).not.toMatch(/«demo»|token \S+/);
  });
});
