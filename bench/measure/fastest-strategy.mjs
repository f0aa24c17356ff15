// Selects the strategy of the LDAP client with the most responses per second.

const SECONDS = 1;

/** Measures each strategy, and selects the fastest. @returns responses per second by strategy */
export async function chooseFastestStrategy(slapd, groups, connections) {
  const found = {};
  for (const strategy of slapd.strategies) {
    await slapd.client.prepare(strategy, groups);
    await slapd.client.run(strategy, { seconds: SECONDS / 2, connections });
    const { requests, seconds } = await slapd.client.run(strategy, { seconds: SECONDS, connections });
    found[strategy] = requests / seconds;
  }
  slapd.strategy = slapd.strategies.reduce((best, strategy) =>
    found[strategy] > found[best] ? strategy : best,
  );
  return found;
}
