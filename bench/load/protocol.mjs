// The load process's side of the messages between it and its parent.

/** Handles the messages of the parent. `prepare` stores a load, and `run` runs it for { seconds, connections, rate }. */
export function serveLoads({ prepare, run }) {
  process.on('message', async ({ number, kind, name, content }) => {
    const before = process.cpuUsage();
    try {
      const result = kind === 'prepare' ? await prepare(name, content) : await run(name, content);
      const { user, system } = process.cpuUsage(before);
      process.send({ number, result: { ...result, loaderMilliseconds: (user + system) / 1000 } });
    } catch (error) {
      process.send({ number, error: error.message });
    }
  });
  process.on('disconnect', () => process.exit());
  // A terminal sends Ctrl-C to all its processes. The parent stops this one.
  process.on('SIGINT', () => undefined);
}
