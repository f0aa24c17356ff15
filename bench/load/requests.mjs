// Builds the requests of one load from its lists.

/**
 * @typedef {object} Load
 * @property {number[]} ports connections are spread over them
 * @property {string} query the GraphQL document
 * @property {string} operationName
 * @property {string[]} variables as JSON; requests cycle through them
 * @property {string[]} tokens likewise
 * @property {string} [origin] the page that sends the requests: without one, they have no Origin field
 */

export class Requests {
  #next = 0;
  #prefix;

  /** @param {Load} load */
  constructor({ ports, query, operationName, variables, tokens, origin }) {
    this.ports = ports;
    this.variables = variables;
    this.tokens = tokens;
    this.origin = origin === undefined ? '' : `Origin: ${origin}\r\n`;
    this.#prefix = `{"operationName":${JSON.stringify(operationName)},"query":${JSON.stringify(query)},"variables":`;
  }

  /** Returns the text of the next request. A later run continues where the last one ended. */
  next() {
    const number = this.#next++;
    const body = `${this.#prefix}${this.variables[number % this.variables.length]}}`;
    return (
      `POST /graphql/v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n${this.origin}` +
      `Authorization: Bearer ${this.tokens[number % this.tokens.length]}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    );
  }
}
