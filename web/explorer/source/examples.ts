/** The operations of the first tabs. */
export interface ExplorerExample {
  readonly query: string;
  readonly variables?: string;
}

export const EXAMPLES: readonly ExplorerExample[] = [
  {
    query: `# Groups with members and their photos
# Scope: read
query Groups {
  groups(first: 3) {
    totalCount
    nodes {
      name
      members(first: 6) {
        totalCount
        nodes {
          user { name photo(size: 128) }
          role { value }
        }
      }
    }
  }
}
`,
  },
  {
    query: `# You, and your groups by your role there
# Scope: profile
query Profile {
  profile {
    id
    name
    schoolYear
    photo(size: 256)
    groups(first: 5, orderBy: { field: ROLE, direction: DESC }) {
      totalCount
      nodes {
        group { name }
        role { value }
      }
    }
  }
}
`,
  },
  {
    query: `# Users and groups by part of a name
# Scope: read
query Search($text: String!) {
  search(query: $text, first: 8) {
    totalCount
    nodes {
      __typename
      ... on User { id name photo(size: 64) }
      ... on Group { id name }
    }
  }
}
`,
    variables: '{ "text": "mar" }',
  },
  {
    query: `# The cost of a large operation
# It is not executed, and no points are charged
query Cost {
  rateLimit(dryRun: true) { cost nodeCount largestConnection rejection remaining limit resetAt }
  groups(first: 100) {
    nodes { members(first: 40) { nodes { user { name } } } }
  }
}
`,
  },
  {
    query: `# A preview: the LDIF of a change
# Scopes: profile and write
mutation Rename {
  updateProfile(input: { name: "A New Name" }) {
    # A failure that the form can show
    userErrors { code message path }
    profile { name }
    preview { ldif }
  }
}
`,
  },
];
