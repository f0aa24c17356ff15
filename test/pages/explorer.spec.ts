import { readFileSync } from 'node:fs';
import { buildSchema, parse, validate } from 'graphql';
import { readConfig } from '../../src/config/config.js';
import { explorerDirectives, renderExplorer } from '../../src/explorer/explorer.controller.js';
import { EXAMPLES } from '../../web/explorer/source/examples.js';
import { operationNameIn } from '../../web/explorer/source/operation-name.js';
import { findPictures } from '../../web/explorer/source/pictures.js';
import { findMissingScopes } from '../../web/explorer/source/missing-scopes.js';
import { parseRateLimit } from '../../web/explorer/source/rate-limit.js';

const BASE_URL = 'https://directory.example.org/school';

describe('the explorer', () => {
  it('has examples that are valid for the built-in schema', () => {
    const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
    for (const { query, variables = '{}' } of EXAMPLES) {
      expect(validate(schema, parse(query))).toEqual([]);
      expect(JSON.parse(variables)).toBeInstanceOf(Object);
    }
  });

  it('shows each picture of the service once, and none of other origins', () => {
    const photo = `${BASE_URL}/photo/v1/anna?expires=1&signature=ab`;
    const body = {
      data: {
        users: [
          { name: 'Anna', photo, website: 'https://elsewhere.example/photo/v1/anna' },
          { id: 'ben', picture: `${BASE_URL}/picture/v1/ben?expires=1&signature=cd`, photo: null },
          { nested: [{ photo }], note: `see ${photo}` },
        ],
      },
    };
    expect(findPictures(body, BASE_URL)).toEqual([
      { url: photo, name: 'Anna' },
      { url: `${BASE_URL}/picture/v1/ben?expires=1&signature=cd`, name: 'ben' },
    ]);
    expect(findPictures(null, BASE_URL)).toEqual([]);
  });

  it('sends an operation name only if the document contains it', () => {
    expect(operationNameIn('query A { a } query B { b }', 'B')).toBe('B');
    expect(operationNameIn('query A { a }', 'B')).toBeNull();
    expect(operationNameIn('{ a }', null)).toBeNull();
    expect(operationNameIn('query A {', 'A')).toBe('A');
  });

  it('finds the scopes that an operation needs beside those of the token', () => {
    const failure = (code: string, requiredScopes?: string[]) => ({ extensions: { code, requiredScopes } });
    const body = { errors: [failure('INSUFFICIENT_SCOPE', ['profile', 'write']), failure('NOT_FOUND')] };
    expect(findMissingScopes(body, ['profile'])).toEqual(['write']);
    expect(findMissingScopes({ errors: [failure('UNAUTHENTICATED')] }, [])).toEqual([]);
    expect(findMissingScopes({ errors: [failure('NOT_FOUND')] }, [])).toBeNull();
    expect(findMissingScopes({ data: {} }, [])).toBeNull();
  });

  it('reads the cost and the remaining limits', () => {
    const header = '"requests";r=299;t=60, "points";r=4997;t=3600;directory-cost=3';
    expect(parseRateLimit(header)).toEqual({ requests: 299, points: 4997, cost: 3 });
    expect(parseRateLimit('"requests";r=299;t=60')).toEqual({ requests: 299 });
    expect(parseRateLimit('')).toEqual({});
  });

  it('receives its settings in the page, escaped for the script element', () => {
    const config = readConfig({ BASE_URL, EXPLORER_CLIENT_ID: '</script><script>' });
    const page = renderExplorer(config, { file: 'assets/main.js', css: ['assets/main.css'] });
    expect(page).toContain('<script type="module" src="/school/explorer/assets/main.js"></script>');
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page).toContain('"clientId":"\\u003c/script>\\u003cscript>"');
  });

  it('may connect to the service and its issuer only, and runs own scripts only', () => {
    const external = readConfig({ BASE_URL, AUTH_URL: 'https://id.example.org/realm' });
    expect(explorerDirectives(external)).toMatchObject({
      'script-src': [`'self'`],
      'connect-src': [`'self'`, 'https://id.example.org'],
      'img-src': [`'self'`, 'data:', 'https://directory.example.org'],
    });
  });
});
