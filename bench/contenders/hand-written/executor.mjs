// Executes the queries: one function per query maps rows to the response and does nothing else.

const ROLES = [null, 'MEMBER', 'ADMIN', 'OWNER'];

const cursorOf = (sortName, key) => Buffer.from(JSON.stringify([sortName, key])).toString('base64url');

export class Executor {
  #pool;
  #statements;
  #photos;
  #build;

  constructor({ pool, statements, photos, build }) {
    this.#pool = pool;
    this.#statements = statements;
    this.#photos = photos;
    this.#build = build;
  }

  /** @returns {Promise<object>} the member `data` of the response */
  async find(queryName, variables, person) {
    switch (queryName) {
      case 'members':
        return this.#members(this.#statements.members, 50, variables.id);
      case 'largestPage':
        return this.#members(this.#statements.largestPage, 100, variables.id);
      case 'profile':
        return this.#profile(person);
      case 'search':
        return this.#search(variables.query);
      default:
        return { buildInfo: this.#build };
    }
  }

  async #read(statement, value) {
    const { rows } = await this.#pool.query({ ...statement, values: [value], rowMode: 'array' });
    return rows;
  }

  async #members(statement, first, id) {
    const rows = await this.#read(statement, id.toLowerCase());
    const [name, totalCount] = rows[0];
    const hasNextPage = rows.length > first;
    if (hasNextPage) rows.pop();
    const last = rows[rows.length - 1];
    const nodes = rows.map(([, , role, person, personName, schoolYear, hasPhoto]) => ({
      role: { value: ROLES[role] },
      user: { name: personName, schoolYear, photo: this.#photos.find(person, hasPhoto) },
    }));
    const pageInfo = { hasNextPage, endCursor: cursorOf(last[7], last[8]) };
    return { group: { name, members: { totalCount, pageInfo, nodes } } };
  }

  async #profile(person) {
    const rows = await this.#read(this.#statements.profile, person);
    const [id, name, schoolYear, hasPhoto, totalCount] = rows[0];
    const hasPreviousPage = rows.length > 20;
    if (hasPreviousPage) rows.pop();
    rows.reverse();
    const nodes = rows.map(([, , , , , role, groupId, groupName]) => ({
      role: { value: ROLES[role] },
      group: { id: groupId, name: groupName },
    }));
    const pageInfo = { hasPreviousPage, startCursor: cursorOf(rows[0][8], rows[0][9]) };
    const photo = this.#photos.find(id, hasPhoto);
    return { profile: { name, schoolYear, photo, groups: { totalCount, pageInfo, nodes } } };
  }

  async #search(query) {
    const rows = await this.#read(this.#statements.search, query.toLowerCase());
    const nodes = rows.map(([kind, id, name]) => ({ __typename: kind === 0 ? 'User' : 'Group', id, name }));
    return { search: { nodes } };
  }
}
