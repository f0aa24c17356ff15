/** An operation in the address of the page: `#query=…&variables=…`. */
export interface LinkedOperation {
  readonly query: string;
  readonly variables: string | null;
}

/** Reads the operation in the fragment of a URL, such as `#query=%7B+users…`. Null: there is none. */
export function parseLinkedOperation(fragment: string): LinkedOperation | null {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const query = parameters.get('query');
  return query === null ? null : { query, variables: parameters.get('variables') };
}
