import { readConfig } from '../config/config.js';
import { createLog, NestLog, TextFormat } from './log.js';

/** Returns the output of a log with these settings. */
function writtenBy(environment: Record<string, string>, work: (log: NestLog) => void): string[] {
  const written: string[] = [];
  work(NestLog.of(readConfig(environment), { write: (line) => written.push(line) }));
  return written;
}

describe('the log', () => {
  it('has JSON lines, with the levels of log collectors', () => {
    const lines = writtenBy({ LOG_LEVEL: 'verbose', LOG_FORMAT: 'json' }, (log) => {
      log.fatal('one', 'Mirror');
      log.error('two', 'Error: why\n    at somewhere', 'Mirror');
      log.warn('three %s');
      log.log('four', undefined, 'Mirror');
      log.debug({ five: 5 }, 'Mirror');
      log.verbose('six', 'Mirror');
    }).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ time, ...line }) => [typeof time, line])).toEqual([
      ['string', { level: 'fatal', context: 'Mirror', msg: 'one' }],
      ['string', { level: 'error', context: 'Mirror', msg: 'two\nError: why\n    at somewhere' }],
      ['string', { level: 'warn', msg: 'three %s' }],
      ['string', { level: 'info', context: 'Mirror', msg: 'four' }],
      ['string', { level: 'debug', context: 'Mirror', msg: '{"five":5}' }],
      ['string', { level: 'trace', context: 'Mirror', msg: 'six' }],
    ]);
  });

  it("omits messages below its level, and those of Nest's own start", () => {
    const work = (log: NestLog) => {
      log.log('Mapped {/x, GET} route', 'RouterExplorer');
      log.error('It failed', 'ExceptionHandler');
      log.log('Ready', 'Service');
      log.warn('Away', 'Limits');
    };
    const said = (level: string) =>
      writtenBy({ LOG_LEVEL: level, LOG_FORMAT: 'json' }, work).map((line) => /"msg":"(\w+)/.exec(line)?.[1]);
    expect(said('debug')).toEqual(['Mapped', 'It', 'Ready', 'Away']);
    expect(said('log')).toEqual(['Ready', 'Away']);
    expect(said('warn')).toEqual(['Away']);
    expect(said('error')).toEqual([]);
  });

  it('is text if configured, or on a terminal', () => {
    const time = String.raw`\d\d:\d\d:\d\d\.\d{3}`;
    const [line] = writtenBy({ LOG_FORMAT: 'text' }, (log) => {
      log.log('Revision 1:\n  people', 'Mirror');
    });
    expect(line).toMatch(new RegExp(`^${time} INFO  \\[Mirror\\] Revision 1:\n  people\n$`));
    for (const [isTerminal, form] of [
      [true, new RegExp(`^${time} INFO  request status=200 cost=null\n$`)],
      [false, /^\{"level":"info",.*"status":200,"cost":null,"msg":"request"\}\n$/],
    ] as const) {
      const written: string[] = [];
      const stream = { write: (text: string) => written.push(text) };
      createLog(readConfig({}), stream, isTerminal).info({ status: 200, cost: null }, 'request');
      expect(written).toEqual([expect.stringMatching(form)]);
    }
  });

  it('has short lines of requests in a terminal, with colors where it has them', () => {
    const request = { level: 'info', time: '2030-01-15T07:30:00.123Z', requestId: 'x', route: '/graphql/v1' };
    const lineOf = (hasColors: boolean, more: object) => {
      const line = new TextFormat(true, hasColors).lineOf({ ...request, ...more, msg: 'request' });
      return line.replace(/\d\d:\d\d:\d\d/, 'TIME');
    };
    const answered = { status: 200, milliseconds: 3.214, operation: 'Members', principal: null, cost: 1 };
    expect(lineOf(false, answered)).toBe('TIME.123 200     3.2 ms /graphql/v1 Members\n');
    expect(lineOf(false, { status: 503, milliseconds: 1000, operation: null })).toBe(
      'TIME.123 503  1000.0 ms /graphql/v1\n',
    );
    expect(lineOf(true, answered)).toContain('\u001b[32m200\u001b[39m');
    expect(lineOf(true, { ...answered, status: 404 })).toContain('\u001b[33m404\u001b[39m');
  });
});
