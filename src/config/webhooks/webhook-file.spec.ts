import { BUILT_IN_SCOPES } from '../scopes.js';
import { checkWebhookFile } from './webhook-file.js';

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const target = (more: string) =>
  `targets:\n  - {id: a, url: "https://example.org/a", secret: ${SECRET}${more}}`;
const with_ = (from: string, to: string) => target('').replace(from, to);

function problemsOf(text: string): string[] {
  return checkWebhookFile(text, BUILT_IN_SCOPES).problems.map(
    ({ line, column, text: cause }) => `${line}:${column} ${cause}`,
  );
}

describe('the file of webhooks', () => {
  it('has targets with defaults', () => {
    const { targets, problems } = checkWebhookFile(target(''), BUILT_IN_SCOPES);
    expect(problems).toEqual([]);
    expect(targets).toEqual([
      { id: 'a', url: 'https://example.org/a', secret: SECRET, scopes: ['directory'], allowPrivate: false },
    ]);
  });

  it.each([
    [target(', kind: [USER_CREATED]'), /^2:\d+ targets\.0\.kind: unknown key\. Did you mean kinds\?$/],
    [
      target(', kinds: [USER]'),
      /^2:\d+ targets\.0\.kinds\.0: Invalid option: expected one of "USER_CREATED"/,
    ],
    [target(', groups: []'), /^2:\d+ targets\.0\.groups: Too small/],
    [
      target(', scopes: [directroy]'),
      /^2:\d+ targets\.0\.scopes\.0: unknown scope\. Did you mean directory\?$/,
    ],
    [target(', scopes: [read]'), /^2:\d+ targets\.0\.scopes: lacks directory/],
    [with_('a,', '"no id",'), /^2:10 targets\.0\.id: expected 1 to 64 letters/],
    [with_('https:', 'http:'), /^2:18 targets\.0\.url: a private address, or http: expected https/],
    [
      with_('example.org', 'user:password@example.org'),
      /^2:18 targets\.0\.url: expected an https URL without user/,
    ],
    [
      with_(SECRET, `"whsec_${Buffer.alloc(32, 1).toString('base64')}=="`),
      /^2:\d+ targets\.0\.secret: expected whsec_/,
    ],
    [with_(SECRET, 'whsec_short'), /^2:\d+ targets\.0\.secret: expected whsec_/],
    [
      `${target('')}\n  - {id: a, url: "https://example.org", secret: ${SECRET}}`,
      /^2:3 targets: two targets have the same id$/,
    ],
    ['', /^1:1 the file is empty$/],
    ['target: []', /^1:1 /],
  ])('has problems with their places: %s', (text, problem) => {
    const problems = problemsOf(text);
    expect(problems.some((each) => problem.test(each))).toBe(true);
    expect(problems.join()).not.toContain(SECRET);
  });

  it.each([
    `targets:\n  - {${SECRET}: a}`,
    `${SECRET}: []`,
    with_('id: a', `id: "${SECRET} "`),
    target(`, kinds: [${SECRET}]`),
    target(`, scopes: [${SECRET}]`),
    target(`, groups: ${SECRET}`),
    target(`, allowPrivate: ${SECRET}`),
    `targets: ${SECRET}`,
    `targets: [*${SECRET}]`,
    `targets: [!${SECRET} a]`,
    `targets:\n  - {id: a, ${SECRET}`,
    `%${SECRET}\n---\ntargets: []`,
  ])('prints no secret in a wrong place: %s', (text) => {
    const problems = problemsOf(text);
    expect(problems).not.toEqual([]);
    // A problem quotes the beginning of a long text.
    expect(problems.join()).not.toContain(SECRET.slice(0, 12));
  });

  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '10.0.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '[::1]',
    '[::7f00:1]',
    '[4000::1]',
    '168.63.129.16',
    '[::ffff:127.0.0.1]',
    '[::ffff:a00:1]',
    '[fe80::1]',
    '[fd00::1]',
    '[64:ff9b::a00:1]',
    '[2002:7f00:1::]',
  ])('rejects the private address %s unless it is allowed', (host) => {
    const private_ = with_('example.org', host);
    expect(problemsOf(private_)).toEqual([expect.stringMatching(/^2:18 targets\.0\.url: a private address/)]);
    expect(problemsOf(private_.replace('}', ', allowPrivate: true}'))).toEqual([]);
  });
});
