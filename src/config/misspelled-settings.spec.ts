import { describeChangedSettings } from './described-settings.js';
import { findMisspelled } from './misspelled-settings.js';

describe('variables that are similar to settings', () => {
  it.each([
    ['DIRECTORY_BASEDN', 'DIRECTORY_BASE_DN'],
    ['DIRECTORY_START_TLS', 'DIRECTORY_STARTTLS'],
    ['DIRECTORY_BIND_PASWORD_FILE', 'DIRECTORY_BIND_PASSWORD_FILE'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['URL_SIGNING_KEY', 'URL_SIGNING_KEYS'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ])('%s is reported with %s', (name, meant) => {
    expect(findMisspelled({ [name]: 'x' })).toEqual([
      `${name} is not a setting, and has no effect: did you mean ${meant}?`,
    ]);
  });

  it('are not those of other software, settings themselves, or empty', () => {
    const others = {
      PATH: '/bin',
      NODE_ENVS: 'x',
      OTEL_SERVICE_NAMES: 'x',
      REDIS_HOST: 'redis',
      REDIS_PORT: 'tcp://10.0.0.1:6379',
      DIRECTORY_SERVICE_HOST: '10.0.0.1',
      DIRECTORY_PORT_3000_TCP_ADDR: '10.0.0.1',
      DIRECTORY_HOME: '/srv',
      DIRECTORY_BASEDN: '',
      DIRECTORY_BASE_DN: 'dc=example,dc=org',
      DIRECTORY_BIND_PASSWORD_FILE: 'x',
    };
    expect(findMisspelled(others)).toEqual([]);
  });
});

describe('the settings that differ from their defaults', () => {
  it('are listed without secrets and the user information of URLs', () => {
    const environment = {
      PORT: ' 3000',
      HOST: '',
      LOG_REQUESTS: 'TRUE',
      WORKERS: '2',
      DATABASE_URL: 'postgres://me:secret@db/directory',
      URL_SIGNING_KEYS_FILE: '/run/secrets/keys',
      DIRECTORY_URL: 'ldap://me:secret@ldap',
    };
    const listed = describeChangedSettings(environment).map(({ name, value }) => `${name}=${value}`);
    expect(listed.sort()).toEqual([
      'DATABASE_URL=(set)',
      'DIRECTORY_URL=ldap://(hidden)@ldap',
      'URL_SIGNING_KEYS=(set)',
      'WORKERS=2',
    ]);
  });
});
