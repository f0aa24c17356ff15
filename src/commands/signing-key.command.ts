import type { Command } from 'commander';
import { BadUserInputError } from '../common/errors.js';
import { type Config, readConfig } from '../config/config.js';
import type { RotationStep } from '../media/signing/signing-keys.js';
import { addCommand, addExamples, printWritten } from './help.js';

const SENTENCES: Readonly<Record<RotationStep, string>> = {
  added:
    'A new key is added. Restart all processes one after the other, so that they know it; then run this command again.',
  changed: 'The new key signs after the restart of a process. URLs of the former key stay valid.',
  replaced: 'The new key signs after the restart of a process. URLs of the former key are then invalid.',
};

export function addSigningKeyCommand(program: Command): void {
  const keys = program.command('signing-key').description('rotate the generated key of signed image URLs');
  const example = ['signing-key rotate', 'Take the next step to another key'] as const;
  addExamples(keys, example);
  addCommand(keys, 'rotate', 'take the next step to another key; the output names what follows', example, [
    'signing-key rotate --now',
    'Replace a key that was disclosed',
  ])
    .option('--now', 'replace a key that was disclosed: its URLs are invalid after the restart')
    .action(async ({ now, json }: { now?: true; json?: true }) => {
      const config = readConfig();
      const step = await rotate(config, now === true);
      printWritten(config, json === true, { step }, (where) => `${SENTENCES[step]} The keys are ${where}.`);
    });
}

/** @throws BadUserInputError if the keys are in the settings */
async function rotate(config: Config, isUrgent: boolean): Promise<RotationStep> {
  if (config.urlSigningKeys !== null) {
    const message = 'The keys are in URL_SIGNING_KEYS: change the setting as docs/operations.md describes';
    throw new BadUserInputError(message, 'URL_SIGNING_KEYS');
  }
  const [{ withDatabase }, { rotateGenerated }] = await Promise.all([
    import('./context.js'),
    import('../media/signing/signing-keys.js'),
  ]);
  return withDatabase(config, (dataSource) => rotateGenerated(dataSource, isUrgent ? 'replace' : 'steps'));
}
