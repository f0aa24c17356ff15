// Prints the names and e-mail addresses of the members of a group: TOKEN=… node emails.mjs chess-club
const { SERVICE_URL: url = 'http://127.0.0.1:3000', TOKEN } = process.env;
const headers = { authorization: `Basic ${TOKEN}`, 'content-type': 'application/json' };
const query = `query Emails($id: String!, $after: String) { group(group: { id: $id }) {
  members(first: 100, after: $after) { nodes { user { name email } } pageInfo { hasNextPage endCursor } } } }`;
for (let data, errors, pageInfo; pageInfo?.hasNextPage ?? true; { pageInfo } = data.group.members) {
  const body = JSON.stringify({ query, variables: { id: process.argv[2], after: pageInfo?.endCursor } });
  ({ data, errors } = await (await fetch(`${url}/graphql/v1`, { method: 'POST', headers, body })).json());
  if (errors) throw new Error(`${errors[0].extensions.code}: ${errors[0].message}`);
  for (const { user } of data.group.members.nodes) if (user.email) console.log(user.name, `<${user.email}>`);
}
