import { type Command, InvalidArgumentError } from 'commander';
import { type AccessCount, dayOf, keptSince } from '../access-log/access-counts.js';
import { BadUserInputError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { printable } from '../common/printable.js';
import { addCommand, describeRows, paint } from './help.js';

interface AccessLogOptions {
  from?: string;
  to?: string;
  principal?: string;
  json?: true;
}

interface About {
  readonly contact: string | null;
  readonly purpose: string | null;
}

type Abouts = ReadonlyMap<string, About>;

export function addAccessLogCommand(program: Command): void {
  addCommand(
    program,
    'access-log',
    'print which principals read which fields of how many users, for each day',
    ['access-log --from 2030-01-01', 'Print all accesses since a day'],
    ['access-log --principal reports', 'Print the accesses of one program'],
    [
      "access-log --json | jq '.counts[] | select(.users > 10000)'",
      'Print large numbers for a monitoring system',
    ],
  )
    .option(
      '--from <day>',
      'the first day in UTC, such as 2030-01-15; default: the first day that is kept',
      parseDay,
    )
    .option('--to <day>', 'the last day; default: today', parseDay)
    .option('--principal <id>', 'the service account, the client, or the user for whom a client acted')
    .action(printAccessLog);
}

async function printAccessLog({ json, principal, ...days }: AccessLogOptions): Promise<void> {
  const config = readConfig();
  const now = new Date();
  const from = laterOf(days.from, keptSince(now, config.accessLogDays));
  const to = days.to ?? dayOf(now);
  if (days.from !== undefined && days.from > to) throw new BadUserInputError('--from is after --to', 'from');
  const { counts, abouts } = await readLog(config, { from, to, principal: principal ?? null });
  if (json === true) {
    const described = counts.map((count) => ({ ...count, ...aboutOf(count, abouts) }));
    console.log(JSON.stringify({ from, to, counts: described }));
  } else if (config.accessLogDays === 0) {
    console.log('The access log is off: ACCESS_LOG_DAYS is 0.');
  } else {
    console.log(
      counts.length === 0 ? 'The access log has no entries for these days.' : toText(counts, abouts),
    );
  }
}

async function readLog(
  config: ReturnType<typeof readConfig>,
  filter: { from: string; to: string; principal: string | null },
): Promise<{ counts: AccessCount[]; abouts: Abouts }> {
  const [{ withDatabase }, { listCounts }, { AccessLogEntity }, { ServiceAccountEntity }] = await Promise.all(
    [
      import('./context.js'),
      import('../access-log/access-counts.js'),
      import('../access-log/access-log.entity.js'),
      import('../service-accounts/service-account.entity.js'),
    ],
  );
  return withDatabase(config, async (dataSource) => {
    // Including revoked accounts, because the log still names them.
    const accounts = await dataSource.getRepository(ServiceAccountEntity).find();
    return {
      counts: await listCounts(dataSource.getRepository(AccessLogEntity), filter),
      abouts: new Map(accounts.map((account) => [`service-account:${account.id}`, account])),
    };
  });
}

function aboutOf({ principal }: AccessCount, abouts: Abouts): About {
  const { contact = null, purpose = null } = abouts.get(principal) ?? {};
  return { contact, purpose };
}

/** Formats a line for each field, below a line for each principal and day. */
function toText(counts: readonly AccessCount[], abouts: Abouts): string {
  const heads = counts.map((count) => {
    const { contact, purpose } = aboutOf(count, abouts);
    const { day, principal, actingFor } = count;
    const name = paint('bold', printable(actingFor === '' ? principal : `${principal} for ${actingFor}`));
    return [day, name, ...[contact, purpose].filter((each) => each !== null).map(printable)].join('  ');
  });
  const inWords = (count: number, noun: string) =>
    `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
  const rows = describeRows(
    counts.map(({ field, requests, users }) => [field, inWords(requests, 'request'), inWords(users, 'user')]),
  );
  const lines = rows.map((row, index) => {
    const head = heads[index] ?? '';
    return `${head === heads[index - 1] ? '' : `${head}\n`}  ${row}`;
  });
  return lines.join('\n');
}

/** Compares days as text, which sorts in the same order. */
function laterOf(asked: string | undefined, kept: string): string {
  return asked === undefined || asked < kept ? kept : asked;
}

function parseDay(text: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const time = isDay ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // JavaScript accepts February 30 and converts it to a day of March.
  if (Number.isNaN(time) || dayOf(new Date(time)) !== text)
    throw new InvalidArgumentError('A day is written as 2030-01-15.');
  return text;
}
