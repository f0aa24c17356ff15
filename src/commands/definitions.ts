import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { SCOPES } from '../auth/principal.js';
import { PROGRAM } from '../config/paths.js';

/** A command line, and what it is for. */
type Example = readonly [line: string, use: string];

/** The end of the help. */
export const EXIT_CODES = `
Exit codes:
  0    done
  1    failed: it could not be done, or a check found a problem
  2    wrong use: an option, an argument or a setting is wrong
  130  stopped by Ctrl-C

With --json standard output is JSON, an error too:
  {"error": {"code", "message", "problems"}}`;

/**
 * Adds a command that can print JSON, with its examples.
 * @param name with the arguments, such as `show <id>`
 */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  ...examples: Example[]
): Command {
  const command = parent.command(name).description(description);
  addExamples(command, ...examples);
  return command.option('--json', 'print the result, or an error, as JSON');
}

export function addExamples(command: Command, ...examples: Example[]): void {
  if (examples.length === 0) return;
  const lines = examples.flatMap(([line, use]) => [`  ${use}:`, `    $ ${PROGRAM} ${line}`]);
  command.addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}

/** The action of a command, which is loaded when it runs: the whole application takes a second, and a mistyped option must not. */
function lazy<Args extends unknown[]>(load: () => Promise<(...args: Args) => Promise<void>>) {
  return async (...args: Args): Promise<void> => (await load())(...args);
}

/** Parses the value of an option by a pattern. */
const by =
  (pattern: RegExp, hint: string) =>
  (text: string): string => {
    if (!pattern.test(text)) throw new InvalidArgumentError(hint);
    return text.trim();
  };

/** Seconds by the unit of a duration. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const parseText = by(/\S/, 'The value must not be empty.');
const parseHash = by(/^[0-9a-f]{64}$/i, 'It is the hash of a plan: 64 digits and letters.');
const parseDay = (text: string) => {
  if (!z.iso.date().safeParse(text).success)
    throw new InvalidArgumentError('A day is written as 2030-01-15.');
  return text;
};
const parseList = (separator: RegExp) => (text: string) =>
  text
    .split(separator)
    .map((each) => each.trim())
    .filter((each) => each !== '');
const durationText = by(/^\d{1,5}[smhd]$/, 'A duration is a number and s, m, h or d, such as 90d or 12h.');
const parseDuration = (text: string) => parseInt(durationText(text), 10) * (UNITS[text.slice(-1)] ?? 1);

/** Parses a duration from now into a time, or none. Commander replaces null by an empty text. */
function parseEnd(text: string): Date | 'never' {
  if (text === 'never') return text;
  const seconds = parseDuration(text);
  if (seconds === 0)
    throw new InvalidArgumentError('It would end at once: `service-account revoke ID` ends an account.');
  return new Date(Date.now() + seconds * 1000);
}

const CREATES = ['--new', 'create the embedded database if no service has used it'] as const;

/** Adds every command but `serve` and the completion. */
export function addCommands(program: Command): void {
  addMirror(program);
  addServiceAccounts(program);
  addKeysAndLogs(program);
  addModelAndSchema(program);
}

function addMirror(program: Command): void {
  addCommand(program, 'status', 'show the state and age of the mirror, and its last changes').action(
    lazy(async () => (await import('./operation.js')).printStatus),
  );
  addCommand(program, 'sync', 'run one synchronization of the mirror with the directory', [
    "sync --dry-run --json | jq '.users.deleted[].id'",
    'Print who would be deleted',
  ])
    .option('--dry-run', 'print what would change, and change nothing')
    .addOption(
      new Option('--confirm <hash>', 'apply the plan with this hash, which the deletion guard has blocked')
        .argParser(parseHash)
        .conflicts('dryRun'),
    )
    .option(...CREATES)
    .option('--all', 'print all changes, not only the first 20 of a kind')
    .action(lazy(async () => (await import('./sync.js')).sync));
  addCommand(program, 'check', 'check the settings and everything that they name', [
    'check --json | jq .sum',
    'Print the sums for a monitoring system',
  ])
    .option('--token <file>', 'explain the access token in a file, or - for standard input')
    .action(lazy(async () => (await import('./check.js')).check));
}

function addServiceAccounts(program: Command): void {
  const accounts = program.command('service-account').description('manage the accounts of programs');
  const create = addCommand(accounts, 'create', 'create an account and print its token, once', [
    'service-account create --id reports --name Reports --scopes read,directory \\\n' +
      '        --contact it@example.org --purpose "The printed year book" --expires 90d',
    'Create an account that may list users, for 90 days',
  ]).requiredOption('--id <id>', '2 to 64 lower-case letters, digits and hyphens');
  addAboutOptions(create, true)
    .option(...CREATES)
    .action(lazy(async () => (await import('./service-accounts.js')).createAccount));
  addAboutOptions(addCommand(accounts, 'update <id>', 'change an account; its token stays valid'), false)
    .addOption(new Option('--all-groups', 'end the limit to groups').conflicts('groups'))
    .action(lazy(async () => (await import('./service-accounts.js')).updateAccount));
  addCommand(accounts, 'list', 'list the accounts that are not revoked, by expiry').action(
    lazy(async () => (await import('./service-accounts.js')).listAccounts),
  );
  addCommand(accounts, 'show <id>', 'show one account').action(
    lazy(async () => (await import('./service-accounts.js')).showAccount),
  );
  const overlap = new Option('--overlap <time>', 'how long the old token stays valid');
  addCommand(accounts, 'rotate <id>', 'create a new token of an account, and let the old one expire', [
    'service-account rotate reports --overlap 0s',
    'Replace a token that was disclosed: the old one expires at once',
  ])
    .addOption(overlap.argParser(parseDuration).default(UNITS['d'], '1d'))
    .action(lazy(async () => (await import('./service-accounts.js')).rotateToken));
  addCommand(accounts, 'revoke <id>', 'revoke an account at once and permanently').action(
    lazy(async () => (await import('./service-accounts.js')).revokeAccount),
  );
}

/** Adds the options of what an account has. A new account needs some of them. */
function addAboutOptions(command: Command, isNew: boolean): Command {
  const add = (flags: string, text: string, parse: (text: string) => unknown, isNeeded = false) =>
    command.addOption(new Option(flags, text).argParser(parse).makeOptionMandatory(isNew && isNeeded));
  const inProduction = isNew ? '; required in production' : '';
  const scopes = `the scopes: ${SCOPES.join(', ')}, and those of the model file`;
  add('--name <name>', 'the name of the program', parseText, true);
  add('--scopes <scopes>', scopes, parseList(/[\s,]/), true);
  add('--description <text>', 'the purpose, as the API shows it', parseText);
  add('--contact <text>', `a contact, such as an e-mail address${inProduction}`, parseText);
  add('--purpose <text>', `the purpose for which it reads personal data${inProduction}`, parseText);
  add('--groups <ids>', 'the groups that it sees, with those in them and their members', parseList(/,/));
  return add('--expires <time>', 'the lifetime from now: 90d, 12h, never', parseEnd);
}

function addKeysAndLogs(program: Command): void {
  const keys = program.command('signing-key').description('rotate the generated key of signed image URLs');
  addCommand(keys, 'rotate', 'take the next step to another key; the output names what follows')
    .option('--now', 'replace a key that was disclosed: its URLs are invalid after the restart')
    .action(lazy(async () => (await import('./operation.js')).rotateSigningKey));
  addCommand(program, 'access-log', 'print who read which fields of how many users on each day', [
    "access-log --json | jq '.counts[] | select(.users > 10000)'",
    'Print large numbers for a monitoring system',
  ])
    .option('--from <day>', 'the first day in UTC, such as 2030-01-15; default: all that are kept', parseDay)
    .option('--to <day>', 'the last day; default: today', parseDay)
    .option('--principal <id>', 'the service account, the client, or the user for whom a client acted')
    .action(lazy(async () => (await import('./operation.js')).printAccessLog));
  const webhooks = program.command('webhook').description('manage the receivers of changes');
  addCommand(webhooks, 'list', 'list the receivers of the settings, and how far they are').action(
    lazy(async () => (await import('./webhooks.js')).listWebhooks),
  );
  addCommand(webhooks, 'enable <id>', 'try a receiver that fails at once, from where it stopped')
    .option('--from-now', 'leave out what happened until now: the receiver reads everything afterwards')
    .action(lazy(async () => (await import('./webhooks.js')).enableReceiver));
}

function addModelAndSchema(program: Command): void {
  addCommand(program, 'model', 'print what is read from the directory, and by which attributes', [
    'model --suggest > model.yaml',
    'Propose a model file for the directory of the settings',
  ])
    .option('--json-schema', 'print the JSON Schema of the model file, for editors')
    .option('--suggest', 'propose a model file from 200 users and 200 groups of the directory')
    .action(lazy(async () => (await import('./model.js')).printModel));
  addCommand(program, 'schema', 'print the GraphQL schema')
    .option('--write', 'record it at a release: in schema.graphql, or beside the model file')
    .option('--check', 'fail if it breaks clients of the recorded schema')
    .addOption(
      new Option('--against <file>', 'fail if it breaks clients of the schema in the file')
        .implies({ check: true })
        .conflicts('write'),
    )
    .option('--built-in', 'ignore the settings and their model file')
    .action(lazy(async () => (await import('./schema.js')).runSchema));
}
