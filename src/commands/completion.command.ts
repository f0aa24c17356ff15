import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
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
  command.description('print a script for the completion of commands and options');
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
}
