import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { addExamples } from './help.js';

/** Adds shell completion. It must be called last, because it covers only the commands that already exist. */
export function addCompletionCommand(program: Command): void {
  tab(program, { completionCommandName: 'completion' });
  const command = program.commands.find((each) => each.name() === 'completion');
  if (command === undefined) return;
  command.description('print a script for the completion of commands and options');
  addExamples(
    command,
    ['completion bash > /etc/bash_completion.d/directory', 'Install the completion for all users of bash'],
    ['completion zsh > "${fpath[1]}/_directory"', 'In zsh'],
    ['completion fish > ~/.config/fish/completions/directory.fish', 'In fish'],
  );
}
