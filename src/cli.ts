#!/usr/bin/env node
import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { addAccessLogCommand } from './commands/access-log.command.js';
import { addCheckCommand } from './commands/check.command.js';
import { addModelCommand } from './commands/model.command.js';
import { addCompletionCommand } from './commands/completion.command.js';
import { addCommand, addExamples, configureHelp, paint } from './commands/help.js';
import { addSchemaCommand } from './commands/schema.command.js';
import { addServiceAccountCommands } from './commands/service-account.command.js';
import { addSigningKeyCommand } from './commands/signing-key.command.js';
import { addStatusCommand } from './commands/status.command.js';
import { addSyncCommand } from './commands/sync.command.js';
import { addWebhookCommands } from './commands/webhook.command.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { readBuild } from './config/build.js';
import { endOnFaults, EXIT_CLOSED_PIPE, EXIT_WRONG_USE, explain, printFailure } from './failure.js';
import { readUsableConfig } from './processes.js';
import { run } from './run.js';

/** Read before the command line is parsed, so that wrong use is answered as JSON, too. */
const asJson = process.argv.includes('--json');

// Commands load what they need when they run: the whole application takes a second to load, and a mistyped option must not.
const program = new Command('directory')
  .description('A GraphQL API in front of an LDAP directory.')
  .version(readBuild().version)
  .exitOverride()
  .configureOutput({
    writeErr: (text) => {
      if (!asJson) process.stderr.write(text);
    },
    outputError: (text, write) => {
      write(paint('red', text, process.stderr));
    },
  })
  .showHelpAfterError('(--help lists the commands and options)');
configureHelp(program);

addCommand(
  program,
  'serve',
  'answer requests, and keep the mirror up to date',
  ['serve', 'Start with the settings of the environment and of .env'],
  ['serve --json', 'Print an error code if the start fails'],
).action(async () => {
  await run(readUsableConfig());
});
addExamples(
  program,
  ['check', 'Check the settings and everything that they name'],
  ['sync --dry-run', 'Print what the next run would change'],
  ['service-account create --help', 'Show how to create a service account'],
);
addStatusCommand(program);
addSyncCommand(program);
addServiceAccountCommands(program);
addSigningKeyCommand(program);
addAccessLogCommand(program);
addWebhookCommands(program);
addSchemaCommand(program);
addCheckCommand(program);
addModelCommand(program);
addCompletionCommand(program);
program.hook('preAction', (_, command) => {
  if (!['completion', 'complete'].includes(command.name())) loadEnvironmentFile();
});

endOnFaults();
if (process.argv[2] !== 'serve') {
  // As a program that SIGPIPE ends: a reader such as `head` has what it wants.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT_CLOSED_PIPE);
      throw error;
    });
}
try {
  await program.parseAsync();
} catch (error) {
  // Open handles would keep the process alive. This exit is safe: the database continues without this process.
  process.exit(error instanceof CommanderError ? endOfUse(error) : explain(error));
}

/** Commander has said what is wrong, or shown the help that was asked for. */
function endOfUse({ exitCode, message }: CommanderError): number {
  if (exitCode === 0) return 0;
  if (asJson) {
    const isHelp = message === '(outputHelp)';
    const problem = isHelp ? 'The command is missing' : message.replace(/^error: /, '').replaceAll('\n', ' ');
    printFailure({ code: 'WRONG_USE', problems: [problem] });
  }
  return EXIT_WRONG_USE;
}
