// A contender that responds over HTTP.

export class Contender {
  /**
   * @param {object} options
   * @param {string} options.name its name in the figures
   * @param {import('../child.mjs').Child[]} options.children its processes
   * @param {number[]} options.ports the ports of the processes
   * @param {number} [options.metricsPort] that of the metrics of the first process
   * @param {Record<string, import('../queries.mjs').Query>} options.queries
   */
  constructor({ name, children, ports, metricsPort, queries }) {
    this.name = name;
    this.children = children;
    this.ports = ports;
    this.metricsPort = metricsPort;
    this.queries = queries;
  }

  get pids() {
    return this.children.map(({ pid }) => pid);
  }

  /**
   * How often the first process has found a response in its response cache, or not; 0 for contenders without metrics.
   * @param {'hits' | 'misses'} count
   */
  async readCacheCount(count) {
    if (this.metricsPort === undefined) return 0;
    const metrics = await (await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`)).text();
    const found = new RegExp(`^directory_cache_${count}_total{cache="responses"[^}]*} (\\d+)$`, 'm').exec(
      metrics,
    );
    if (found === null) throw new Error(`${this.name} does not count the ${count} of its response cache`);
    return Number(found[1]);
  }

  /** Executes a query. @returns its content in comparable form */
  async execute(queryName, variables, token) {
    const { operationName, query, contentOf } = this.queries[queryName];
    const data = await execute(this.ports[0], { operationName, query, variables }, token);
    return contentOf(data);
  }
}

/** Sends one request. @returns the data of the response */
export async function execute(port, body, token) {
  const response = await fetch(`http://127.0.0.1:${port}/graphql/v1`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200 || text.includes('"errors":')) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text).data;
}
