import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { addExamples } from './help.js';

/** Adds shell completion. It must be called last, because it covers only the commands that already exist. */
export function addCompletionCommand(program: Command): void {
  tab(program, { completionCommandName: 'completion' });
  const command = program.commands.find((each) => each.name() === 'completion');
  if (command === undefined) return;
  command.description('print what lets a shell complete commands and options');
  addExamples(
    command,
    ['completion bash > /etc/bash_completion.d/directory', 'For everybody on this machine, in bash'],
    ['completion zsh > "${fpath[1]}/_directory"', 'In zsh'],
    ['completion fish > ~/.config/fish/completions/directory.fish', 'In fish'],
  );
}
