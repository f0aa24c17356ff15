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
