#!/usr/bin/env node
import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { styleText } from 'node:util';
import { addCompletionCommand } from './commands/completion.command.js';
import { addCommand, addCommands, addExamples, EXIT_CODES } from './commands/definitions.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { readBuild } from './config/build.js';
import { AS_JSON, endOnFaults, EXIT_CLOSED_PIPE, EXIT_WRONG_USE, explain, printFailure } from './process.js';

const program = new Command('directory')
  .description('A GraphQL API in front of an LDAP directory.')
  .version(readBuild().version)
  .exitOverride()
  .configureOutput({
    writeErr: (text) => {
      if (!AS_JSON) process.stderr.write(text);
    },
    outputError: (text, write) => {
      write(styleText('red', text, { stream: process.stderr }));
    },
  })
  .showHelpAfterError('(--help lists the commands and options)')
  .addHelpText('after', EXIT_CODES);

addCommand(
  program,
  'serve',
  'answer requests, and keep the mirror up to date',
  ['serve --json', 'Print an error code if the start fails'],
  ['serve --directory-url ldap://ldap.example.org --suggest', 'Try it with your directory'],
)
  .option('--directory-url <url>', 'the setting DIRECTORY_URL, with a database of its own', ownDirectory)
  .option('--suggest', 'first propose a model file, and write model.yaml if you agree')
  .action(async ({ suggest }: { suggest?: true }) => {
    if (suggest === true) await (await import('./commands/model.js')).agreeOnModel();
    await import('./main.js');
  });
addExamples(
  program,
  ['check', 'Check the settings and everything that they name'],
  ['sync --dry-run', 'Print what the next run would change'],
  ['service-account create --help', 'Show how to create a service account'],
);
addCommands(program);
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

/** Variables of the environment take precedence over the file of settings, which is read later. */
function ownDirectory(url: string): string {
  process.env['DIRECTORY_URL'] = url;
  process.env['DATABASE_URL'] ??= 'embedded:.data/own';
  return url;
}

/** Commander has said what is wrong, or shown the help that was asked for. */
function endOfUse({ exitCode, message }: CommanderError): number {
  if (exitCode === 0) return 0;
  if (AS_JSON) {
    const isHelp = message === '(outputHelp)';
    const problem = isHelp ? 'The command is missing' : message.replace(/^error: /, '').replaceAll('\n', ' ');
    printFailure({ code: 'WRONG_USE', problems: [problem] });
  }
  return EXIT_WRONG_USE;
}
