import { type Command, InvalidArgumentError } from 'commander';
import { SCOPES, type Scope, isScope } from '../auth/scopes.js';
import { readConfig } from '../config/config.js';
import type { ServiceAccountEntity } from '../service-accounts/service-account.entity.js';
import type { IssuedToken, ServiceAccountsService } from '../service-accounts/service-accounts.service.js';

const DAY = 86_400;

export function addServiceAccountCommands(program: Command): void {
  const accounts = program.command('service-account').description('the accounts of programs');
  accounts
    .command('create')
    .description('make an account and print its token, once')
    .requiredOption('--id <id>', '2 to 64 lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--scopes <scopes>', `what it may do: ${SCOPES.join(', ')}`, parseScopeList)
    .option('--description <text>', 'what it is for')
    .option('--expires <time>', 'when it ends, from now: 90d, 12h', parseDuration)
    .option('--json', 'answer with one JSON object')
    .action(async ({ id, name, scopes, description, expires, json }: CreateOptions) => {
      const expiresAt = expires === undefined ? null : new Date(Date.now() + expires * 1000);
      const issued = await withAccounts((service) =>
        service.create({ id, name, scopes, description: description ?? null, expiresAt }),
      );
      printToken(issued, json === true, `Service account ${id} is made.`);
    });
  accounts
    .command('list')
    .description('list the accounts that are not revoked')
    .option('--json', 'answer with one JSON array')
    .action(async ({ json }: { json?: true }) => {
      const list = await withAccounts((service) => service.list());
      console.log(json === true ? JSON.stringify(list.map(toJson)) : list.map(toLine).join('\n'));
    });
  accounts
    .command('rotate <id>')
    .description('give an account a new token, and end the old one a while later')
    .option('--overlap <time>', 'how long the old token stays good', parseDuration, DAY)
    .option('--json', 'answer with one JSON object')
    .action(async (id: string, { overlap, json }: { overlap: number; json?: true }) => {
      const issued = await withAccounts((service) => service.rotate(id, overlap));
      printToken(
        issued,
        json === true,
        `Service account ${id} has a new token; the old one ends in ${overlap} s.`,
      );
    });
  accounts
    .command('revoke <id>')
    .description('end an account at once and for good')
    .action(async (id: string) => {
      await withAccounts((service) => service.revoke(id));
      console.log(`Service account ${id} is revoked.`);
    });
}

interface CreateOptions {
  id: string;
  name: string;
  scopes: Scope[];
  description?: string;
  expires?: number;
  json?: true;
}

async function withAccounts<Result>(
  work: (service: ServiceAccountsService) => Promise<Result>,
): Promise<Result> {
  const config = readConfig();
  const [{ withDatabase }, { ServiceAccountsService }] = await Promise.all([
    import('./context.js'),
    import('../service-accounts/service-accounts.service.js'),
  ]);
  return withDatabase(config, (dataSource) => work(new ServiceAccountsService(dataSource)));
}

/** The token is the last line, where a script finds it. */
function printToken({ account, token }: IssuedToken, json: boolean, sentence: string): void {
  if (json) {
    console.log(JSON.stringify({ ...toJson(account), token }));
    return;
  }
  console.log(`${sentence} Send its token as «Authorization: Basic TOKEN»; it is shown this once:`);
  console.log(token);
}

function toJson({
  id,
  name,
  description,
  scopes,
  createdAt,
  expiresAt,
  lastUsedAt,
}: ServiceAccountEntity): object {
  return { id, name, description, scopes, createdAt, expiresAt, lastUsedAt };
}

function toLine({ id, name, scopes, expiresAt, lastUsedAt }: ServiceAccountEntity): string {
  const used = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt.toISOString()}`;
  const end = expiresAt === null ? 'does not expire' : `expires ${expiresAt.toISOString()}`;
  return `${id}  ${name}  ${scopes.join(' ')}  ${end}  ${used}`;
}

function parseScopeList(text: string): Scope[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '');
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0 || names.length === 0) {
    throw new InvalidArgumentError(`Scopes are ${SCOPES.join(', ')}, separated by commas.`);
  }
  return SCOPES.filter((scope) => names.includes(scope));
}

/** Seconds. */
function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('A time is a number and s, m, h or d: 90d, 12h.');
  return Number(count) * ({ s: 1, m: 60, h: 3600, d: DAY }[unit ?? 's'] ?? 1);
}
