// Relay, with documents that relay-compiler compiles: queries a user, previews another name, and reads the user from the store; then
// pages through the members of a group as usePaginationFragment does, by refetching the group as a node.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import compiler from 'relay-compiler';
import relay from 'relay-runtime';
import { authorization, MUTATION, QUERY, report, url } from './documents.mjs';

const {
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getSelector,
  Network,
  RecordSource,
  Store,
} = relay;
const directory = process.argv[3];
const artifacts = join(directory, 'artifacts');

const MEMBERS = `query RenameMembersQuery { group(group: {id: "club"}) { ...Rename_group } }`;
const FRAGMENT = `fragment Rename_group on Group
  @argumentDefinitions(count: {type: "Int", defaultValue: 2}, cursor: {type: "String"})
  @refetchable(queryName: "RenamePageQuery") {
    name
    members(first: $count, after: $cursor) @connection(key: "Rename_members") { edges { node { user { name } } } }
  }`;

compile();
const environment = new Environment({
  network: Network.create(send),
  store: new Store(new RecordSource()),
  // The identity of objects in this schema.
  getDataID: ({ nodeId }) => nodeId,
});
report({ ...(await rename()), pages: await page() });

/** Writes the documents, and compiles them with the schema of the repository. */
function compile() {
  mkdirSync(artifacts, { recursive: true });
  cpSync('schema.graphql', join(directory, 'schema.graphql'));
  const tags = [QUERY, MUTATION, MEMBERS, FRAGMENT].map((text) => `graphql\`${text}\`;`);
  writeFileSync(join(directory, 'Rename.js'), tags.join('\n'));
  const config = {
    src: '.',
    schema: 'schema.graphql',
    artifactDirectory: 'artifacts',
    language: 'javascript',
    jsModuleFormat: 'commonjs',
    eagerEsModules: false,
    schemaConfig: { nodeInterfaceIdField: 'nodeId', nodeInterfaceIdVariableName: 'nodeId' },
  };
  writeFileSync(join(directory, 'relay.config.json'), JSON.stringify(config));
  execFileSync(compiler, ['relay.config.json', '--repersist'], { cwd: directory, stdio: ['ignore', 2, 2] });
}

function load(name) {
  return createRequire(import.meta.url)(join(artifacts, `${name}.graphql.js`));
}

async function send({ text }, variables) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ query: text, variables }),
  });
  return response.json();
}

async function rename() {
  const [query, mutation] = [load('RenameUserQuery'), load('RenameUserMutation')];
  const operation = createOperationDescriptor(query, {});
  environment.retain(operation);
  const before = await fetchQuery(environment, query, {}).toPromise();
  const preview = await new Promise((resolve, reject) => {
    commitMutation(environment, { mutation, variables: {}, onCompleted: resolve, onError: reject });
  });
  return { before, preview, cached: environment.lookup(operation.fragment).data };
}

/** Returns the names of the members after each page. */
async function page() {
  const operation = createOperationDescriptor(load('RenameMembersQuery'), {});
  await environment.execute({ operation }).toPromise();
  environment.retain(operation);
  const fragment = load('Rename_group');
  const pages = [];
  for (;;) {
    const reference = environment.lookup(operation.fragment).data.group;
    const { data } = environment.lookup(getSelector(fragment, reference));
    pages.push(data.members.edges.map(({ node }) => node.user.name));
    if (!data.members.pageInfo.hasNextPage) return pages;
    const { identifierInfo, operation: refetched } = fragment.metadata.refetch;
    const next = createOperationDescriptor(refetched, {
      count: 2,
      cursor: data.members.pageInfo.endCursor,
      [identifierInfo.identifierQueryVariableName]: data[identifierInfo.identifierField],
    });
    await environment.execute({ operation: next }).toPromise();
  }
}
