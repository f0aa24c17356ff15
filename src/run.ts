import type { Config } from './config/config.js';

/** Serves requests: in this process, or in several that it supervises. */
export async function run(config: Config): Promise<void> {
  // The rest takes a second to load: a mistake in the settings is reported before.
  if (config.workers === 1) {
    const { serve } = await import('./serve.js');
    await serve(config);
  } else {
    const { supervise } = await import('./start/supervisor.js');
    const entryOf = (file: string) => new URL(file, import.meta.url);
    await supervise(config, { worker: entryOf('./worker.js') });
  }
}
