// The documents of each client, and the service as the test names it.

export const { url, authorization } = JSON.parse(process.argv[2]);

export const QUERY = 'query RenameUserQuery { user(user: {id: "ada"}) { id nodeId name } }';

export const MUTATION = `mutation RenameUserMutation {
  updateUser(input: {user: {id: "ada"}, name: "Countess"}) {
    user { id nodeId name }
    preview { changes { path before after } ldif }
  }
}`;

/** Writes the result as one line for the test. */
export function report(result) {
  console.log(JSON.stringify(result));
}
