import type { PageSettings } from '../../../src/explorer/page-settings.js';

/** The operations of the first tabs. Those that name people or groups are for the sample directory. */
export interface ExplorerExample {
  /** The scopes that the operation needs. */
  readonly scopes: readonly string[];
  readonly query: string;
  readonly variables?: string;
  /** Coordinates of the fields of a model file that the operation selects. */
  readonly customFields?: readonly string[];
  readonly isForSample?: true;
}

/** The examples that work with the directory and the model of the service. */
export function examplesFor({
  customFields: known,
  isSample,
}: Pick<PageSettings, 'customFields' | 'isSample'>): ExplorerExample[] {
  return EXAMPLES.filter(
    ({ customFields = [], isForSample = false }) =>
      customFields.every((field) => known.includes(field)) && (isSample || !isForSample),
  );
}

export const EXAMPLES: readonly ExplorerExample[] = [
  {
    scopes: ['read'],
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
    scopes: ['profile'],
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
    scopes: ['read'],
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
    scopes: ['read', 'contact'],
    query: `# Fields of the model file: job titles, and
# who reports to whom
# Scopes: read, and contact for phone numbers
query Reports($text: String!) {
  search(query: $text, kinds: [USER], first: 5) {
    totalCount
    nodes {
      __typename
      ... on User {
        name
        jobTitle
        phone
        manager { name }
        reports(first: 3) {
          totalCount
          nodes { name jobTitle }
        }
      }
    }
  }
}
`,
    variables: '{ "text": "head of" }',
    customFields: ['User.jobTitle', 'User.phone', 'User.manager', 'User.reports'],
  },
  {
    scopes: ['read', 'contact'],
    query: `# What only some viewers see: sign in as
# anna.svensson, and compare with ada.martin
# Scopes: read, and contact for mobile numbers
query Audiences {
  currentToken { userId }
  # A group that only its members see
  hiddenGroup: search(
    query: "surprise party", first: 1
  ) { totalCount }
  # Only admins of her groups see this person
  hiddenPerson: search(
    query: "zofia stępień", first: 1
  ) { totalCount }
  # Only its members see who is in this group.
  # For others the error is FORBIDDEN
  groups(
    first: 1, filter: { search: "peer counseling" }
  ) {
    nodes {
      name
      room
      members(first: 3) {
        totalCount
        nodes { user { name mobiles } }
      }
    }
  }
}
`,
    customFields: ['User.mobiles', 'Group.room'],
    isForSample: true,
  },
  {
    scopes: [],
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
    scopes: ['profile', 'write'],
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
