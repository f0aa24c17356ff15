import { BadUserInputError } from '../common/errors.js';
import { readConfig } from '../config/config.js';
import { rotateGenerated, type RotationStep } from '../media/signing/signing-keys.js';
import { printWritten, withDatabase } from './context.js';

const SENTENCES: Readonly<Record<RotationStep, string>> = {
  added:
    'A new key is added. Restart all processes one after the other, so that they know it; then run this command again.',
  changed: 'The new key signs after the restart of a process. URLs of the former key stay valid.',
  replaced: 'The new key signs after the restart of a process. URLs of the former key are then invalid.',
};

/** @throws BadUserInputError if the keys are in the settings */
export async function rotateSigningKey({ now }: { now?: true }): Promise<void> {
  const config = readConfig();
  if (config.urlSigningKeys !== null) {
    const message = 'The keys are in URL_SIGNING_KEYS: change the setting as docs/operations.md describes';
    throw new BadUserInputError(message, 'URL_SIGNING_KEYS');
  }
  const step = await withDatabase(config, (dataSource) => rotateGenerated(dataSource, now === true));
  printWritten(config, { step }, SENTENCES[step]);
}
