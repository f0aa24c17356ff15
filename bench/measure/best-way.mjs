// An LDAP client may go about it in several ways: the one that gives the most answers is the one to compare with.

const SECONDS = 1;

/** Tries each way, and leaves the best one chosen. @returns answers a second by way */
export async function chooseBestWay(slapd, groups, connections) {
  const found = {};
  for (const way of slapd.ways) {
    await slapd.client.prepare(way, groups);
    await slapd.client.run(way, { seconds: SECONDS / 2, connections });
    const { requests, seconds } = await slapd.client.run(way, { seconds: SECONDS, connections });
    found[way] = requests / seconds;
  }
  slapd.way = slapd.ways.reduce((best, way) => (found[way] > found[best] ? way : best));
  return found;
}
