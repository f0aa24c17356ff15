// Collects cursors from the last tenth of large groups.
import { execute } from './contenders/contender.mjs';

const QUERY = `query Walk($id: String!, $after: String) {
  group(group: {id: $id}) { members(first: 100, after: $after) { totalCount pageInfo { hasNextPage endCursor } } }
}`;
const DEEP = 0.9;

/** Reads all pages of each group. @returns the cursors of the last tenth */
export async function collectDeepCursors({ ports }, groups, token) {
  const found = await Promise.all(groups.map((id) => walk(ports[0], id, token)));
  return found.flat();
}

async function walk(port, id, token) {
  const cursors = [];
  let after = null;
  for (let passed = 100; ; passed += 100) {
    const { group } = await execute(
      port,
      { operationName: 'Walk', query: QUERY, variables: { id, after } },
      token,
    );
    const { totalCount, pageInfo } = group.members;
    if (!pageInfo.hasNextPage) return cursors;
    after = pageInfo.endCursor;
    if (passed > totalCount * DEEP && passed + 50 < totalCount) cursors.push({ id, after });
  }
}
