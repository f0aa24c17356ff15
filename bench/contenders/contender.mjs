// Somebody who answers questions over HTTP.

export class Contender {
  /**
   * @param {object} options
   * @param {string} options.name how it is called in the figures
   * @param {import('../child.mjs').Child[]} options.children its processes
   * @param {number[]} options.ports where these answer
   * @param {Record<string, import('../questions.mjs').Question>} options.questions
   */
  constructor({ name, children, ports, questions }) {
    this.name = name;
    this.children = children;
    this.ports = ports;
    this.questions = questions;
  }

  get pids() {
    return this.children.map(({ pid }) => pid);
  }

  /** What it says, in everybody's words. */
  async ask(question, variables, token) {
    const { operationName, query, contentOf } = this.questions[question];
    const data = await ask(this.ports[0], { operationName, query, variables }, token);
    return contentOf(data);
  }
}

/** Asks one question, and gives the data of the answer. */
export async function ask(port, body, token) {
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
