// What a process that makes load is told, and what it says, over the channel to the process that started it.

/** Serves one load after another. @param loads how loads are prepared, and run for { seconds, connections, rate } */
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
  // Ctrl-C goes to everybody in the terminal, and the one who began ends the others in order.
  process.on('SIGINT', () => undefined);
}
