import { existsSync } from 'node:fs';
import { join } from 'node:path';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { readConfig } from '../config/config.js';
import { loadEnvironmentFile } from '../config/environment-file.js';
import { dataDirectoryOf } from '../config/settings/database.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { addExamples } from './definitions.js';

// The script of the library evaluates what was typed. This one passes it on as arguments.
const BASH = `# bash completion for directory
_directory_complete() {
    local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=()
    while IFS= read -r line; do
        line=\${line%%$'\\t'*}
        [[ $line != :* && $line == "\${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$line")
    done < <(directory complete -- "\${words[@]}" 2>/dev/null)
    return 0
}
complete -F _directory_complete directory
`;

/** Adds shell completion. It must be called last, because it covers only the commands that already exist. */
export function addCompletionCommand(program: Command): void {
  const library = tab(program, { completionCommandName: 'completion' });
  const command = program.commands.find((each) => each.name() === 'completion');
  if (command === undefined) return;
  command.description('print a script for the completion of commands, options and ids');
  command.action((shell: string) => {
    if (shell === 'bash') process.stdout.write(BASH);
    else library.setup('directory', 'directory', shell);
  });
  addExamples(
    command,
    ['completion bash > /etc/bash_completion.d/directory', 'Install the completion for all users of bash'],
    ['completion zsh > "${fpath[1]}/_directory"', 'In zsh'],
    ['completion fish > ~/.config/fish/completions/directory.fish', 'In fish'],
  );
  let ids: readonly string[] = [];
  // The library asks for the ids of accounts and webhooks at once, so that they are read before.
  program.hook('preAction', async (_, running) => {
    const [subject = ''] = running.args;
    if (running.name() === 'complete' && ['service-account', 'webhook'].includes(subject))
      ids = await listIds(subject).catch(() => []);
  });
  for (const { arguments: ofCommand } of library.commands.values()) {
    const id = ofCommand.get('id');
    if (id === undefined) continue;
    id.handler = (complete) => {
      for (const each of ids) complete(each, '');
    };
  }
}

async function listIds(subject: string): Promise<readonly string[]> {
  loadEnvironmentFile();
  const config = readConfig();
  if (subject === 'webhook') return config.webhooks.map(({ id }) => id);
  const { embedded } = config.database;
  // No server is started for a key that is pressed.
  if (embedded !== null && !existsSync(join(dataDirectoryOf(embedded), 'postmaster.pid'))) return [];
  const { withDatabase } = await import('./context.js');
  const query = 'select id from service_accounts where revoked_at is null order by id';
  const work = (database: DirectoryDataSource) => database.query<{ id: string }[]>(query);
  return (await withDatabase(config, work, { migrates: false })).map(({ id }) => id);
}
