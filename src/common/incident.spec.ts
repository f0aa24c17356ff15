import { Incident } from './incident.js';

describe('an incident in the log', () => {
  let now: number;
  let logged: string[];
  let incident: Incident;

  beforeEach(() => {
    now = 0;
    logged = [];
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const at = (level: string) => (text: unknown) => logged.push(`${level} ${String(text)}`);
    incident = new Incident({ log: at('log'), warn: at('warn'), error: at('error') });
  });

  afterEach(() => jest.restoreAllMocks());

  it('has a beginning, each further reason, and an end, each of them once', () => {
    incident.end('It works again');
    for (const reason of ['refused', 'refused', 'too slow', 'refused', 'too slow']) incident.note(reason);
    now = 12_300;
    incident.end('It works again');
    incident.end('It works again');
    incident.note('refused', 'error');
    expect(logged).toEqual([
      'warn refused',
      'warn too slow',
      'log It works again after 12 s',
      'error refused',
    ]);
  });

  it('has at most ten reasons', () => {
    for (let index = 0; index < 1000; index++) incident.note(`${index}`);
    incident.end('It works again');
    expect(logged).toHaveLength(11);
  });

  it.each([
    [400, '0 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [7_100_000, '118 min'],
    [7_200_000, '2 h'],
  ])('of %d ms took %s', (milliseconds, duration) => {
    incident.note('refused');
    now = milliseconds;
    incident.end('It works again');
    expect(logged.at(-1)).toBe(`log It works again after ${duration}`);
  });
});
