import { hash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, print } from 'graphql';
import { ConfigError, readConfig } from '../../src/config/config.js';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, get, post, refusalOf } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const LDIF = buildLdif([{ id: 'anna', name: 'Anna' }]);
const ANNA = { user: { name: 'Anna' } };
const REFUSED = [403, 'DOCUMENT_NOT_TRUSTED'];
const QUERY = 'query Name { user(user: {id: "anna"}) { ...Named } } fragment Named on User { name }';
const OTHER = '{ user(user: {id: "anna"}) { name } }';
const INTROSPECTION = '{ __schema { queryType { name } } }';
const sha256Of = (text: string) => hash('sha256', text);
const persisted = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

const newFile = () => join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'manifest-')), 'manifest.json');

function writeManifest(documents: unknown): string {
  const file = newFile();
  writeFileSync(file, typeof documents === 'string' ? documents : JSON.stringify(documents));
  return file;
}

function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('TRUSTED_DOCUMENTS', () => {
  it.each([
    ['is missing', join(__dirname, 'missing.json'), ['names a file that is not a readable JSON object']],
    ['is not JSON', writeManifest('{'), ['names a file that is not a readable JSON object']],
    ['is an array', writeManifest([QUERY]), ['names a file that is not a readable JSON object']],
    ['is too large', writeManifest(' '.repeat(10_000_001)), ['of at most 10000000 bytes']],
    [
      'has wrong entries',
      writeManifest({
        'a b': QUERY,
        list: [QUERY],
        empty: '',
      }),
      ['is not a readable JSON object of at most 10000000 bytes with documents by hash'],
    ],
  ])('is rejected with all problems if the file %s', (_what, file, expected) => {
    const problems = problemsOf(() => readConfig({ TRUSTED_DOCUMENTS: file }));
    expect(problems).toHaveLength(expected.length);
    for (const each of expected) expect(problems.join('\n')).toContain(each);
    for (const each of problems) expect(each).toMatch(/^TRUSTED_DOCUMENTS /);
  });
});

describe.each(['sha256', 'sha1'])(
  'a service with a manifest in the form of GraphQL Code Generator, with %s',
  (algorithm) => {
    const text = print(parse(QUERY));
    // Only SHA-256 has a prefix there.
    const id = `${algorithm === 'sha256' ? 'sha256:' : ''}${hash(algorithm, text)}`;
    const service = TestService.forSuite({
      ldif: LDIF,
      environment: { TRUSTED_DOCUMENTS: writeManifest({ [id]: text }) },
    });
    let authorization: string;

    beforeAll(async () => {
      authorization = await service.serviceAccount('read');
    });

    const sendBody = (body: object) => post(service, body, { authorization });

    it('executes its documents by hash, by documentId and by their text, by POST and GET', async () => {
      const plain = id.replace('sha256:', '');
      const bodies = [
        persisted(id),
        persisted(plain),
        { documentId: id },
        { documentId: plain },
        { query: text },
      ];
      for (const body of [
        ...bodies,
        { query: text, ...persisted(id) },
        { query: text, ...persisted(plain) },
      ]) {
        for (let time = 0; time < 3; time++) expect(dataOf(await sendBody(body))).toEqual(ANNA);
      }
      const extensions = JSON.stringify(persisted(id).extensions);
      for (const parameters of [{ extensions }, { documentId: id }, { query: text }] as Record<
        string,
        string
      >[])
        expect(dataOf(await get(service, parameters, { authorization }))).toEqual(ANNA);
    });

    it('refuses all others, introspection included, and registers none', async () => {
      const unknown = sha256Of(OTHER);
      for (const body of [
        { query: OTHER },
        { query: ` ${text}` },
        { query: OTHER, ...persisted(unknown) },
        { query: OTHER, ...persisted(id) },
        persisted(unknown),
        persisted('unknown'),
        { documentId: `sha256:${unknown}` },
        { query: INTROSPECTION },
        { query: '{' },
      ]) {
        expect([body, refusalOf(await sendBody(body))]).toEqual([body, REFUSED]);
      }
    });
  },
);
