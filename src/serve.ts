import { Logger, ShutdownSignal } from '@nestjs/common';
import type { Config } from './config/config.js';
import { createApp } from './create-app.js';
import { MirrorService } from './mirror/mirror.service.js';
import { DemoServiceAccount } from './service-accounts/demo-service-account.js';
import { describeStart } from './start/message.js';

/** What asks a process to end, from an operator, a terminal or a container's supervisor. */
const SIGNALS = [ShutdownSignal.SIGTERM, ShutdownSignal.SIGINT, ShutdownSignal.SIGHUP];

/** Serves until the process is told to end: then it ends with exit code 0, even half-way through its start. */
export async function serve(config: Config): Promise<void> {
  const isEnding = watchSignals();
  const app = await createApp(config);
  if (isEnding()) {
    await app.close();
    return;
  }
  app.enableShutdownHooks(SIGNALS, { useProcessExit: true });
  try {
    await app.listen(config.port, config.host);
    await app.get(MirrorService).start();
    if (isEnding()) return;
    const demoToken = config.auth.issuer === null ? await app.get(DemoServiceAccount).ensure() : null;
    new Logger('Service').log(describeStart(config, demoToken));
  } catch (error) {
    // What is being closed fails in many ways, and none of them is worth telling.
    if (isEnding()) return;
    await app.close();
    throw error;
  }
}

/** A database that is being made must not be cut off in the middle: a signal is heard from the beginning. */
function watchSignals(): () => boolean {
  let ending = false;
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      ending = true;
    });
  }
  return () => ending;
}
