import 'reflect-metadata';
import { Command, CommanderError } from 'commander';
import { addCheckCommand } from './commands/check.command.js';
import { addSchemaCommand } from './commands/schema.command.js';
import { addServiceAccountCommands } from './commands/service-account.command.js';
import { addSyncCommand } from './commands/sync.command.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { readBuild } from './health/build-info.js';
import { endOnFaults, EXIT_WRONG_USE, explainFailure } from './start/failure.js';
import { readUsableConfig } from './start/preconditions.js';

// Commands load what they need when they run: the whole house takes a second, a mistyped option should not.
const program = new Command('directory')
  .description('A GraphQL API in front of an LDAP directory.')
  .version(readBuild().version)
  .exitOverride()
  .showHelpAfterError('(--help says what there is)');

program
  .command('serve')
  .description('answer requests, and keep the mirror up to date')
  .action(async () => {
    const config = readUsableConfig();
    const { serve } = await import('./serve.js');
    await serve(config);
  });
addSyncCommand(program);
addServiceAccountCommands(program);
addSchemaCommand(program);
addCheckCommand(program);

endOnFaults();
try {
  loadEnvironmentFile();
  await program.parseAsync();
} catch (error) {
  // Commander has said what is wrong, or shown the help that was asked for. What has been opened by then would
  // keep the process alive; the embedded database survives worse.
  process.exit(
    error instanceof CommanderError ? (error.exitCode === 0 ? 0 : EXIT_WRONG_USE) : explainFailure(error),
  );
}
